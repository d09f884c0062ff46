"""UIUC's propeller data, which the project does not have: a folder that a user names.

Its own text files (NAME_DxP_geom.txt, NAME_DxP_..._RPM.txt), or tables *_exp.csv and *_geom.csv,
which may be packed by gzip, with columns PropName, BladeName, B, D, J, N, CT, CP and BladeName, D,
c/R, r/R, beta.
"""

import csv
import gzip
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from xtdrone_propellers.errors import PropellerError
from xtdrone_propellers.geometry import INCH, Geometry, read_geometry, size_of
from xtdrone_propellers.measured import read_measured


@dataclass
class Tested:
    """A propeller with its measurements (K, 4): J, rpm, C_T, C_P; and its blade, if it is known."""

    name: str  # as Gill and D'Andrea call it: apcsf-10x4.7
    diameter: float  # [inch]
    blades: int
    rows: list = field(default_factory=list)
    blade: Geometry | None = None


def read(folder):
    """Returns the propellers of a folder."""
    folder = Path(folder).expanduser()
    tables = sorted(folder.rglob("*_exp.csv*"))
    return list((_of_tables(folder, tables) if tables else _of_texts(folder)).values())


def _open(path):
    return gzip.open(path, "rt") if path.suffix == ".gz" else open(path)


def _called(brand, diameter, pitch):
    return f"{brand}-{float(diameter):g}x{float(pitch):g}"


def _of_tables(folder, tables):
    blades, found = {}, {}
    for path in sorted(folder.rglob("*_geom.csv*")):
        with _open(path) as file:
            for row in csv.DictReader(file):
                numbers = [float(row[key]) for key in ("r/R", "c/R", "beta")]
                blades.setdefault(row["BladeName"], []).append(numbers)
    for path in tables:
        with _open(path) as file:
            for row in csv.DictReader(file):
                brand, size = row["BladeName"].rsplit(" ", 1)
                diameter, pitch = size.split("x")[:2]
                one = found.setdefault(
                    row["PropName"],
                    Tested(
                        _called(brand, diameter, pitch), float(row["D"]), round(float(row["B"]))
                    ),
                )
                one.rows.append([float(row[key]) for key in ("J", "N", "CT", "CP")])
                if one.blade is None and row["BladeName"] in blades:
                    one.blade = _blade(one, blades[row["BladeName"]])
    return found


def _blade(one, rows):
    table = np.array(sorted(rows))
    table = table[np.append(True, np.diff(table[:, 0]) > 0.0) & (table[:, 0] >= 0.1)]
    radius = 0.5 * one.diameter * INCH
    columns = table[:, 0], table[:, 1], np.radians(table[:, 2])
    return Geometry(one.name, radius, one.blades, *(tuple(each.tolist()) for each in columns))


def _of_texts(folder):
    found = {}
    for path in sorted(folder.rglob("*_*x*_*.txt")):
        named = re.match(r"([a-z0-9]+)_([\d.]+)x([\d.]+)", path.stem)
        if not named or "static" in path.stem:
            continue
        name = _called(*named.groups())
        try:
            if path.stem.endswith("_geom"):
                blade = read_geometry(path)
                one = found.setdefault(name, Tested(name, 2.0 * blade.radius / INCH, blade.blades))
                one.blade = blade
            else:
                data = read_measured(path)
                one = found.setdefault(name, Tested(name, size_of(path.stem)[0], data.blades))
                one.rows += np.stack([data.advance, data.rpm, data.thrust, data.power], 1).tolist()
        except PropellerError as error:
            print(f"left out: {error}")
    return {name: one for name, one in found.items() if one.rows}
