#!/bin/bash
# All benchmarks, one after the other, into runs/bench.json; several minutes.
#
#   scripts/bench.sh            every benchmark
#   scripts/bench.sh fleet      those whose name contains a word
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/env.sh
for file in benchmarks/bench_*.py; do
    case "$file" in
        *"${1:-}"*) echo "== $file"; python "$file" ;;
    esac
done
