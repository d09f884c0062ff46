#!/bin/bash
# Makes every screenshot and every plot of the manual, by the commands in scripts/pictures.txt.
#
#   scripts/pictures.sh                  every picture; half an hour
#   scripts/pictures.sh viewer slam      those whose name contains one of these words
#   scripts/pictures.sh --outdated       those that are older than the code that draws them
#   scripts/pictures.sh --check          only names these; status 1 if there are any
#   scripts/pictures.sh --record rviz    notes pictures that were made on another machine
#   scripts/pictures.sh --accept viewer  notes pictures as current after a change of names alone
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/env.sh
exec python scripts/pictures.py "$@"
