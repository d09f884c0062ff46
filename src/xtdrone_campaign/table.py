"""The table of a campaign: one row for each flight, in the order of the plan.

It holds nothing that the wall clock has measured, so that an interrupted campaign ends in the same
table, byte for byte; wall times are in timing.csv.
"""

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from .flight import FIGURES, GOOD, Result
from .plan import Plan

NAME = "flights"  # .csv and .parquet
TIMING = "timing.csv"


@dataclass(frozen=True)
class Table:
    """Columns by name, all of one length.

    Attributes:
        columns: Lists of numbers or texts; None where a flight has no such figure.
        varied: Names of the columns that vary.
        figures: Names of the columns that were measured.
    """

    columns: Mapping[str, list[Any]]
    varied: tuple[str, ...]
    figures: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns["flight"])


def collect(plan: Plan, results: Mapping[int, Result]) -> Table:
    """Makes the table of the flights that have ended."""
    flights = sorted(results)
    figures = tuple(name for name in FIGURES if any(name in results[k].figures for k in flights))
    columns: dict[str, list[Any]] = {"flight": flights}
    for name in plan.varied:
        columns[name] = _typed([plan.values(k)[0][name] for k in flights])
    columns["seed"] = [plan.values(k)[1] for k in flights]
    columns["success"] = [int(results[k].status == GOOD) for k in flights]
    columns["status"] = [results[k].status for k in flights]
    for name in figures:
        columns[name] = [results[k].figures.get(name) for k in flights]
    columns["reason"] = [results[k].reason for k in flights]
    return Table(columns, tuple(plan.varied), figures)


def write(folder: Path, table: Table) -> list[Path]:
    """Writes flights.csv and, where pyarrow is installed, flights.parquet; returns their paths."""
    written = [replace(folder / f"{NAME}.csv", _csv(table.columns).encode())]
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:  # or too new for the NumPy here
        (folder / f"{NAME}.parquet").unlink(missing_ok=True)  # an older one
        return written
    arrays = [
        pyarrow.array(values, type=_kind(pyarrow, name, values))
        for name, values in table.columns.items()
    ]
    data = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, names=list(table.columns)), data)
    return [*written, replace(folder / f"{NAME}.parquet", data.getvalue())]


def write_timing(folder: Path, results: Mapping[int, Result]) -> None:
    """Writes timing.csv: wall time of each flight, and simulated over wall time."""
    flights = sorted(results)
    replace(
        folder / TIMING,
        _csv(
            {
                "flight": flights,
                "wall_s": [results[k].wall_s for k in flights],
                "real_time_factor": [
                    round(results[k].figures.get("simulated_s", 0.0) / results[k].wall_s, 3)
                    if results[k].wall_s > 0
                    else None
                    for k in flights
                ],
            }
        ).encode(),
    )


def replace(path: Path, data: bytes) -> Path:
    """Replaces a file as a whole: a reader sees the old one or the new one."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    os.replace(part, path)
    return path


def _kind(pyarrow: ModuleType, name: str, values: list[Any]) -> Any:  # a pyarrow.DataType
    """Returns the type of a column, by its name where it may have no values."""
    if name in ("flight", "seed", "success"):
        return pyarrow.int64()
    texts = name in ("status", "reason") or any(isinstance(value, str) for value in values)
    return pyarrow.string() if texts else pyarrow.float64()


def _typed(values: list[str]) -> list[str] | list[float]:
    """Converts texts to numbers if all are numbers."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return list(values)
    return numbers if all(map(math.isfinite, numbers)) else list(values)


def _csv(columns: Mapping[str, Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_word(value) for value in row] for row in zip(*columns.values()))
    return text.getvalue()


def _word(value: object) -> object:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.12g}" if isinstance(value, float) else value
