#!/bin/bash
# MAVProxy against a running simulation: it downloads and sets parameters, loads a mission, arms,
# flies it and is disarmed by the landing; the true way is checked. A minute. MAVProxy lives in an
# environment of its own, .setup/mavproxy, which the first run makes.
#
#   scripts/mavproxy.sh            set up where needed, and check
#   scripts/mavproxy.sh --setup    set up only
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
. scripts/env.sh
place=.setup/mavproxy
if [ ! -x $place/bin/mavproxy.py ]; then
    echo "installing MAVProxy into $place (log: $place.log); a minute or two"
    mkdir -p .setup
    { python3 -m venv --clear $place && $place/bin/pip install MAVProxy==1.8.75; } \
        >$place.log 2>&1 \
        || { echo "MAVProxy cannot be installed: see $place.log" >&2; exit 1; }
fi
[ "${1:-}" = --setup ] || exec python scripts/mavproxy.py $place/bin/mavproxy.py "$@"
