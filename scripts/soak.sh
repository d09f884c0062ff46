#!/bin/bash
# A long flight that looks for leaks and drift: one simulated hour with 20 vehicles.
#
#   scripts/soak.sh                    about ten minutes
#   scripts/soak.sh --n 5 --minutes 10
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/env.sh
exec python scripts/soak.py "$@"
