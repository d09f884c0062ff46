#!/bin/bash
# Long flights that look for leaks and drift: one simulated hour with 20 vehicles and faults
# (strangers, floods, a full disk, a ground station that comes and goes), another with three pages
# open (as many vehicles, if --n is given, or nine), then MAVProxy flying a mission
# (scripts/mavproxy.sh), where it is installed or can be.
#
#   scripts/soak.sh                    about fifteen minutes
#   scripts/soak.sh --n 5 --minutes 10
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/env.sh
case "${1:-}" in
    -h | --help) exec python scripts/soak.py --help ;;
esac
status=0
python scripts/soak.py "$@" || status=1
python scripts/soak_web.py "$@" || status=1
if scripts/mavproxy.sh --setup; then
    scripts/mavproxy.sh || status=1
else
    echo "MAVProxy's check is left out"
fi
exit $status
