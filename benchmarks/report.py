"""A table of goal, last release and now, from runs/bench.json.

    python benchmarks/report.py              prints what was measured, at the end of `make bench`
    python benchmarks/report.py --docs       writes the tables of docs/benchmarks.md
    python benchmarks/report.py --release    makes what was measured the last release's

benchmarks/figures.csv declares the figures. A figure is the row of runs/bench.json that has its
params (null: none of that name; `*` stands for the rest of a text), over that of its peer if it has
one, from the same run.
"""

import argparse
import csv
import json
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import results

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "figures.csv"
PAGE = HERE.parent / "docs" / "benchmarks.md"
BEGIN, END = (
    "<!-- Figures of {}: written by benchmarks/report.py. -->\n",
    "<!-- End of the figures. -->\n",
)
NONE = "–"


class Figure(NamedTuple):
    """A row of figures.csv."""

    section: str
    figure: str
    name: str
    params: str
    peer: str
    unit: str
    better: str  # more or less
    goal: str
    release: str

    def now(self, rows: list) -> float | None:
        """What was measured, or over its peer; None if it was not."""
        value = find(rows, self.name, self.params)
        if self.peer and value is not None:
            other = find(rows, self.name, self.peer)
            return None if not other else value / other
        return value

    def verdict(self, value: float) -> str:
        """How a value stands to the last release, and whether the goal is reached."""
        words = []
        if self.release:
            ratio = value / float(self.release)
            words.append(f"{ratio if self.better == 'more' else 1.0 / ratio:.2f} times as good")
        if self.goal:
            reached = (
                value >= float(self.goal) if self.better == "more" else value <= float(self.goal)
            )
            words.append("goal reached" if reached else "goal missed")
        return ", ".join(words)


def find(rows: list, name: str, params: str) -> float | None:
    """The value of the only row with a name and params, or None."""
    wanted = json.loads(params)
    found = [
        row["value"]
        for row in rows
        if row["name"] == name
        and all(_matches(row["params"].get(key), value) for key, value in wanted.items())
    ]
    if len(found) > 1:
        raise SystemExit(f"{name} has {len(found)} rows with {params}: give more params")
    return found[0] if found else None


def _matches(given, wanted) -> bool:
    return fnmatch(given or "", wanted) if isinstance(wanted, str) else given == wanted


def figures() -> list[Figure]:
    """Reads figures.csv."""
    with FIGURES.open(newline="") as file:
        return [Figure(**row) for row in csv.DictReader(file)]


def text(value) -> str:
    """Three significant digits, with a thousands separator."""
    if value in (None, ""):
        return NONE
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def printed(rows: list) -> str:
    """Lays out the figures that were measured."""
    lines = [f"{'':66s} {'goal':>12s} {'release':>12s} {'now':>12s}"]
    for figure in figures():
        value = figure.now(rows)
        if value is not None:
            columns = " ".join(f"{text(v):>12s}" for v in (figure.goal, figure.release, value))
            head = f"{figure.figure} [{figure.unit}]"
            lines.append(f"{head:66s} {columns}  {figure.verdict(value)}")
    return "\n".join(lines)


def machine_of(rows: list) -> str:
    """Names the machine of the rows."""
    found = [row["params"] for row in rows if row["name"] == "machine"]
    if not found:
        return "'now' is empty until `make bench` has run.\n"
    m = found[0]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    return (
        f"'Now' is from {m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB, {m['system']}; "
        f"{versions}.\n"
    )


def table(rows: list, section: str) -> str:
    """Lays out a section as a table of Markdown."""
    lines = ["| | unit | goal | last release | now |", "|---|---|---|---|---|"]
    lines += [
        f"| {f.figure} | {f.unit} | {text(f.goal)} | {text(f.release)} | {text(f.now(rows))} |"
        for f in figures()
        if f.section == section
    ]
    return "\n".join(lines) + "\n"


def page(rows: list) -> str:
    """Lays out docs/benchmarks.md with its tables anew."""
    whole = PAGE.read_text()
    for section in dict.fromkeys(["machine", *(figure.section for figure in figures())]):
        begin = BEGIN.format(section)
        if begin not in whole:
            raise SystemExit(f"docs/benchmarks.md has no place for {section}: add {begin.strip()}")
        before, _, rest = whole.partition(begin)
        new = machine_of(rows) if section == "machine" else table(rows, section)
        whole = before + begin + "\n" + new + "\n" + END + rest.partition(END)[2]
    return whole


def release(rows: list) -> None:
    """Writes what was measured into figures.csv as the last release's."""
    kept = []
    for figure in figures():
        value = figure.now(rows)
        kept.append(figure if value is None else figure._replace(release=f"{value:.4g}"))
    with FIGURES.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Figure._fields)
        writer.writerows(kept)


def main() -> None:
    """Prints the table, or writes it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--release", action="store_true", help="write benchmarks/figures.csv")
    args = parser.parse_args()
    rows = results.rows_so_far()
    if not rows:
        print(f"{results.path()} has no rows: run make bench", file=sys.stderr)
        raise SystemExit(1)
    if args.release:
        release(rows)
    if args.docs:
        PAGE.write_text(page(rows))
    else:
        print(printed(rows))


if __name__ == "__main__":
    main()
