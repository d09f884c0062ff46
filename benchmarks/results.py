"""runs/bench.json: a list of {name, params, value, unit}; each benchmark replaces its own rows.

A row named machine says on which the others were measured.
"""

import json
from collections import Counter
from pathlib import Path

from xtdrone_core.contracts import Observer
from xtdrone_core.runs import run_folder
from xtdrone_slam.benchmark.machine import describe


class Work:
    """What was done in the time that a benchmark reports, by what it is."""

    def __init__(self):
        self.done = Counter()

    def count(self, what: str, found: float, expected: float) -> None:
        """Adds work that was counted; ends the benchmark if it is none or less than expected."""
        if not found >= max(expected, 1):
            raise SystemExit(
                f"{found:.0f} {what}, {expected:.0f} are expected: the time is that of other work, "
                "and nothing is reported"
            )
        self.done[what] += round(found)

    def __str__(self):
        return ", ".join(f"{count} {what}" for what, count in self.done.items())


class Readings(Observer):
    """Asks for images and scans, which are drawn for nobody else, and counts them."""

    wants_readings = True

    def __init__(self):
        self.count = 0

    def on_reading(self, reading):
        """Counts a reading with data in each of its arrays."""
        self.count += all(array.size and array.any() for array in reading.data.values())


def path() -> Path:
    """Where the rows are."""
    return run_folder.runs_root() / "bench.json"


def rows_so_far() -> list:
    """Reads the rows; none before the first benchmark."""
    return json.loads(path().read_text()) if path().exists() else []


def replace(name: str, rows, work: Work) -> None:
    """Writes the rows of one benchmark; replaces rows with the same name and params.

    Args:
        name: Name of the benchmark's rows.
        rows: (params dict, value, unit) of each row.
        work: What was counted while they were measured.

    Raises:
        ValueError: Nothing was counted.
    """
    if not work.done:
        raise ValueError(f"{name} counts no work: call Work.count() for what it measures")
    machine = describe()
    new = [
        {"name": name, "params": params, "value": value, "unit": unit}
        for params, value, unit in rows
    ]
    new.append({"name": "machine", "params": machine, "value": machine["cores"], "unit": "cores"})
    keys = [(row["name"], row["params"]) for row in new]
    kept = [
        row
        for row in rows_so_far()
        if row["name"] != "machine" and (row["name"], row["params"]) not in keys
    ]
    path().parent.mkdir(parents=True, exist_ok=True)
    run_folder.write_json(path(), kept + new)
    print(f"{name}: {work}", flush=True)
