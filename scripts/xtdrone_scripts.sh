#!/bin/bash
# XTDrone's own scripts, unmodified, fly six iris: communication, keyboard, leader, avoid, followers.
# Nothing is fetched: give a checkout of XTDrone (github.com/robin-shaun/XTDrone). Two minutes.
#
#   scripts/xtdrone_scripts.sh PATH_OF_XTDRONE
set -euo pipefail
case "${1:---help}" in
    -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
for file in communication/multirotor_communication.py coordination/formation_demo/leader.py; do
    if [ ! -f "$1/$file" ]; then
        echo "'$1' has no $file: give a checkout of XTDrone" >&2
        exit 2
    fi
done
XTDRONE_CHECKOUT=$(cd "$1" && pwd)
export XTDRONE_CHECKOUT
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/env.sh
if ! python -c 'import pyquaternion' 2>/dev/null; then
    echo "XTDrone's scripts need pyquaternion: pip install pyquaternion" >&2
    exit 2
fi
exec python -m pytest -q -s tests/ros/test_xtdrone_scripts.py
