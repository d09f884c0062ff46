#!/bin/sh
# Runs the notebook as a newcomer does: in a new virtual environment with `pip install .[notebook]`
# and nothing else, from a folder of its own. Minutes, 1 GB on disk; both are removed at the end.
#
#   scripts/notebook_alone.sh [PYTHON]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${1:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "$root[notebook]"
cp "$root/examples/first_flight.ipynb" "$work"
cd "$work"
unset PYTHONPATH XTDRONE_ROOT
XTDRONE_RUNS="$work/runs" "$work/venv/bin/python" - <<'EOF'
import nbclient
import nbformat

notebook = nbformat.read("first_flight.ipynb", 4)
nbclient.NotebookClient(notebook, timeout=600).execute()
shown = [kind for cell in notebook.cells for output in cell.get("outputs", ())
         for kind in output.get("data", {})]
assert shown.count("image/png") == 2 and "image/gif" in shown, shown
print("the notebook runs: two figures and a film")
EOF
