#!/bin/bash
# The demonstration flight: nine iris through ROS, as fast as the machine can.
#
#   scripts/demo.sh                     cube, pyramid and triangle with nine iris
#   scripts/demo.sh speed:=1 gui:=true  at real time, with the engine's viewer
#   scripts/demo.sh n:=18 formations:=cuboid,sphere,diamond
#   scripts/demo.sh --square            one iris, a 4 m square
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
. scripts/env.sh
if ! command -v roslaunch >/dev/null; then
    echo "ROS is not installed here, so the demo flies without it: xtdrone fly" >&2
    case "${1:-}" in
        --square) exec xtdrone fly square --gps rtk ;;
        *) exec xtdrone fly formation --n 9 --gps rtk ;;
    esac
fi
case "${1:-}" in
    --square) shift; exec roslaunch launch/square.launch speed:=0 "$@" ;;
    *) exec roslaunch launch/formation.launch speed:=0 "$@" ;;
esac
