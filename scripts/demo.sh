#!/bin/bash
# The demonstration flight: nine iris through ROS, as fast as the machine can; ends with its figures.
#
#   scripts/demo.sh                     cube, pyramid and triangle with nine iris
#   scripts/demo.sh speed:=1 gui:=true  at real time, with a window on the flight
#   scripts/demo.sh n:=18 formations:=cuboid,sphere,diamond
#   scripts/demo.sh --square            one iris, a 4 m square
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
. scripts/env.sh
flight=formation
if [ "${1:-}" = --square ]; then flight=square; shift; fi
runs="${XTDRONE_RUNS:-$PWD/runs}"
mkdir -p "$runs"
begun=$(mktemp)
trap 'rm -f "$begun"' EXIT
status=0
if command -v roslaunch >/dev/null; then
    roslaunch "launch/$flight.launch" speed:=0 "$@" || status=$?
else
    echo "ROS is not installed here, so the demo flies without it: xtdrone fly $flight" >&2
    options=()
    if [ $flight = formation ]; then options+=(--n 9); fi
    xtdrone fly $flight "${options[@]}" || status=$?
fi
# A flight that ended left its figures.
ended=$(find "$runs" -mindepth 2 -maxdepth 2 -name summary.json -newer "$begun" -printf '%T@ %h\n' |
    sort -n | tail -n 1 | cut -d ' ' -f 2-)
if [ -z "$ended" ] || grep -q '"ended": "unfinished"' "$ended/summary.json"; then
    echo "the demo did not end its flight: see what its nodes said above" >&2
    exit 1
fi
echo
xtdrone formation table "$ended"
exit $status
