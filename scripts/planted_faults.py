"""Plants the faults of tests/faults.txt and writes tests/FAULTS.md: which of them tests find.

    python scripts/planted_faults.py                  those not planted yet; then the table
    python scripts/planted_faults.py --before FOLDER  the same faults, for the tests of another
                                                      checkout; a column more
    python scripts/planted_faults.py --again          those once more that were not found
    python scripts/planted_faults.py --table          the table of what was planted so far

Each line of tests/faults.txt takes a minute or so. Remove runs/faults.json to begin anew.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PLANS, TABLE = ROOT / "tests" / "faults.txt", ROOT / "tests" / "FAULTS.md"
NOW, BEFORE = ROOT / "runs" / "faults.json", ROOT / "runs" / "faults_before.json"
FOUND, BY_LONG, MISSED = "found", "found by long tests alone", "not found"  # as mutants.py's
HEAD = """# Planted faults

<!-- Written by scripts/planted_faults.py. -->

Each fault is another comparison, operator, number or condition in one function, drawn at random
from the modules of `tests/faults.txt`; the tests beside them there run with it. Kernels are
compiled anew. Some faults change nothing that could be seen, as a limit that is never reached.

{planted} faults: {found} found by `make test`, {by_long} by tests marked long alone,
{missed} not. Of {compared} the tests of an earlier state (column "found before") found {before}.

"""


class Plan(NamedTuple):
    """A line of tests/faults.txt."""

    room: str
    modules: str
    tests: str
    faults: str


Outcome = dict[str, list[str]]  # what became of the faults: what they are
Outcomes = dict[str, Outcome]  # of each line, by its modules


def plans() -> list[Plan]:
    """Reads tests/faults.txt."""
    lines = [line for line in PLANS.read_text().splitlines() if not line.startswith("#")]
    return [Plan(*(cell.strip() for cell in line.split("|"))) for line in lines]


def read(file: Path) -> Outcomes:
    """Reads what was planted before; nothing without a file."""
    return dict(json.loads(file.read_text())) if file.exists() else {}


def plant(plan: Plan, checkout: Path, known: Outcome | None) -> Outcome | None:
    """Plants the faults of a line but those known as found; None where the tests fail without."""
    with tempfile.TemporaryDirectory() as folder:
        outcome, before = Path(folder) / "faults.json", Path(folder) / "known.json"
        before.write_text(json.dumps(known or {}))
        words = [plan.modules.replace(" ", ","), *plan.tests.split(), "--count", plan.faults]
        mutants = ROOT / "tests" / "support" / "mutants.py"
        command = [sys.executable, str(mutants), *words, "--long"]
        subprocess.run([*command, "--json", str(outcome), "--known", str(before)], cwd=checkout)
        return json.loads(outcome.read_text()) if outcome.exists() else None


def table(now: Outcomes, before: Outcomes) -> str:
    """Lays out tests/FAULTS.md."""
    rooms: dict[str, list[int]] = defaultdict(lambda: [0] * 6)
    missed = []
    for plan in plans():
        outcome, earlier = now.get(plan.modules), before.get(plan.modules)
        if outcome is None:
            continue
        counts = [len(outcome[kind]) for kind in (FOUND, BY_LONG, MISSED)]
        compared = [0, 0] if earlier is None else [len(earlier[FOUND]), sum(counts)]
        row = [sum(counts), *counts, *compared]
        rooms[plan.room] = [a + b for a, b in zip(rooms[plan.room], row)]
        missed += [f"- `{text.replace('`', ' ')}`" for text in outcome[MISSED]]
    total = [sum(cells) for cells in zip(*rooms.values())]
    columns = "room | planted | found by make test | by long tests alone | not found | found before"
    lines = [f"|{columns}|", "|" + "---|" * (columns.count("|") + 1)]
    for room, row in rooms.items():
        ago = f"{row[4]} of {row[5]}" if row[5] else "not planted"
        lines.append(f"|{'|'.join(map(str, [room, *row[:4], ago]))}|")
    names = "planted", "found", "by_long", "missed", "before", "compared"
    head = HEAD.format(**dict(zip(names, total)))
    return head + "\n".join(lines) + "\n\n## Not found\n\n" + "\n".join(missed) + "\n"


def main() -> int:
    """Plants what was not planted yet and writes the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="a checkout with the tests to compare with")
    parser.add_argument("--table", action="store_true", help="plant nothing")
    parser.add_argument("--again", action="store_true", help="those that were not found")
    parser.add_argument("--rooms", nargs="+", help="plant faults in these alone")
    args = parser.parse_args()
    file, checkout = (BEFORE, args.before) if args.before else (NOW, ROOT)
    broken = []
    for plan in plans():
        is_chosen = not args.table and (args.rooms is None or plan.room in args.rooms)
        known = read(file).get(plan.modules)
        is_open = known is None or (args.again and bool(known[MISSED]))
        if not (is_chosen and is_open):
            continue
        outcome = plant(plan, checkout, known)
        if outcome is None:
            broken.append(plan.tests)
            continue
        file.parent.mkdir(exist_ok=True)  # another process may have written meanwhile
        file.write_text(json.dumps({**read(file), plan.modules: outcome}, indent=1))
    if read(NOW):
        TABLE.write_text(table(read(NOW), read(BEFORE)))
    for tests in broken:
        print(f"{tests}: fail without a fault; mend them first", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
