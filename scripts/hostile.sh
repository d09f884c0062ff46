#!/bin/bash
# Hostile inputs of every kind - files, options, messages, sockets - for ten minutes.
# Prints what they did, and fails if one of them did harm; docs/robustness.md says more.
#
#   scripts/hostile.sh
#   scripts/hostile.sh --seconds 60 --seed 3
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/env.sh
PYTHONPATH="tests:tests/support:${PYTHONPATH:-}" exec python -m hostile "$@"
