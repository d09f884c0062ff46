#!/bin/bash
# All benchmarks, one after the other, into runs/bench.json; several minutes. Ends with a table of
# goal, last release and now; one that fails does not end the others.
#
#   scripts/bench.sh            every benchmark
#   scripts/bench.sh fleet      those whose name contains a word
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
. scripts/env.sh
ran=0 failed=()
for file in benchmarks/bench_*.py; do
    case "$file" in
        *"${1:-}"*) ran=1; echo "== $file"; python "$file" || failed+=("$file") ;;
    esac
done
[ $ran = 1 ] || { echo "no '$1' here: give a word of $(echo benchmarks/bench_*.py)" >&2; exit 1; }
python benchmarks/report.py
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
