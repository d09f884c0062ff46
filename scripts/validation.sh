#!/bin/bash
# Long checks against closed forms, published tables and independent programs; several minutes.
# Each writes its page and pictures below docs/validation/ and fails where a bound is broken.
#
#   scripts/validation.sh             every check
#   scripts/validation.sh dynamics    those whose name contains a word
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "${1:-}" in
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
. scripts/env.sh
failed=()
ran=0
for file in scripts/validation/[a-z]*.py; do
    case "$file" in
        *"${1:-}"*) ran=1; echo "== $file"; python "$file" || failed+=("$file") ;;
    esac
done
[ $ran = 1 ] || { echo "no '$1' here: give a word of $(echo scripts/validation/[a-z]*.py)" >&2; exit 1; }
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
