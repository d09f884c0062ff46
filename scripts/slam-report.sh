#!/bin/bash
# The SLAM report of docs/slam_report: one recorded flight, four systems, five runs each; about
# 20 minutes on a machine that has nothing else to do. Goes on where it was interrupted.
#
#   scripts/slam-report.sh                                  benchmarks/slam_indoor.yaml
#   scripts/slam-report.sh FILE.yaml REPORT_FOLDER          another campaign
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
. scripts/env.sh
file=${1:-benchmarks/slam_indoor.yaml}
for system in orbslam3 basalt kiss_icp genz_icp small_gicp; do
    if grep -q "$system" "$file"; then
        xtdrone slam install "$system"   # does nothing where it is installed
    fi
done
status=0
xtdrone slam campaign "$file" --serial --report "${2:-docs/slam_report}" || status=$?
[ "$status" = 4 ] || exit "$status"   # 4: the report is there, and not every run is good
