#!/bin/bash
# Long checks against closed forms, published tables and independent programs; several minutes.
# Each writes its page and pictures below docs/validation/ and fails where a bound is broken.
#
#   scripts/validation.sh             every check
#   scripts/validation.sh dynamics    those whose name contains a word
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/env.sh
failed=()
for file in scripts/validation/[a-z]*.py; do
    case "$file" in
        *"${1:-}"*) echo "== $file"; python "$file" || failed+=("$file") ;;
    esac
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
