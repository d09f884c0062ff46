#!/bin/bash
# All benchmarks, one after the other, into runs/bench.json; several minutes.
#
#   scripts/bench.sh            every benchmark
#   scripts/bench.sh fleet      those whose name contains a word
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
. scripts/env.sh
ran=0
for file in benchmarks/bench_*.py; do
    case "$file" in
        *"${1:-}"*) ran=1; echo "== $file"; python "$file" ;;
    esac
done
[ $ran = 1 ] || { echo "no '$1' here: give a word of $(echo benchmarks/bench_*.py)" >&2; exit 1; }
