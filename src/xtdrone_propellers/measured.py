"""Measured performance of propellers: UIUC's text files, APC's, and CSV tables."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import files
from xtdrone_core.errors import shown

from .errors import PropellerError
from .geometry import size_of

_COLUMNS = {  # heading of a column in lower case -> what it is
    "j": "advance",
    "adv_ratio": "advance",
    "ct": "thrust",
    "cp": "power",
    "n": "rpm",
    "rpm": "rpm",
}
_FEWEST = 3


@dataclass(frozen=True)
class Measured:
    """Measurements of one propeller in axial flow.

    Attributes:
        name: Of the file.
        diameter: [inch]; 0 where neither file nor name has it.
        blades: Number of blades.
        advance: (K,) advance ratio J = V / (n D).
        thrust, power: (K,) C_T = T / (rho n^2 D^4), C_P = P / (rho n^3 D^5).
        rpm: (K,) turns per minute; 0 where it is not said.
    """

    name: str
    diameter: float
    blades: int
    advance: np.ndarray
    thrust: np.ndarray
    power: np.ndarray
    rpm: np.ndarray


def read_measured(path: Path | str, diameter: float = 0.0, blades: int = 0) -> Measured:
    """Reads measurements: columns J, CT and CP; J is 0 in static tests, which have RPM instead.

    Args:
        path: UIUC's text file, APC's PER3 file or a table with commas.
        diameter: [inch]; 0: that of the name.
        blades: 0: those of the name, or 2.

    Raises:
        PropellerError: A column is missing, too few rows, or what cannot be such coefficients.
    """
    where = f"measurements '{shown(path)}'"
    text = files.read_text(path, "measurements of a propeller", error=PropellerError)
    size = size_of(Path(path).stem) or (0.0, 0.0, 2)
    turns = re.search(r"_(\d{3,5})$", Path(path).stem)  # UIUC's names end in the rpm
    rpm, rows, columns = float(turns[1]) if turns else 0.0, [], {}
    for line in text.splitlines():
        words = line.replace(",", " ").split()
        lower = [word.lower() for word in words]
        found = {_COLUMNS[word]: k for k, word in enumerate(lower) if word in _COLUMNS}
        if {"thrust", "power"} <= set(found):
            columns = found
            continue
        stated = re.search(r"PROP RPM\s*=\s*(\d+)", line)
        rpm = float(stated[1]) if stated else rpm
        try:
            row = [float(word) for word in words]
        except ValueError:
            continue
        if columns and len(row) > max(columns.values()):
            rows.append(
                [
                    row[columns["advance"]] if "advance" in columns else 0.0,
                    row[columns["thrust"]],
                    row[columns["power"]],
                    row[columns["rpm"]] if "rpm" in columns else rpm,
                ]
            )
    if len(rows) < _FEWEST:
        raise PropellerError(
            f"{where} has {len(rows)} rows under columns J, CT and CP: give at least {_FEWEST}"
        )
    table = np.array(rows)
    if not np.isfinite(table).all() or np.abs(table[:, :3]).max() > 10.0:
        raise PropellerError(
            f"{where}: its largest number is {np.abs(table[:, :3]).max():g}; give J, CT and CP "
            "without units: thrust over rho n^2 D^4 and power over rho n^3 D^5, n in turns a second"
        )
    advance, thrust, power, turns_a_minute = table.T
    return Measured(
        Path(path).stem,
        diameter or size[0],
        blades or size[2],
        advance,
        thrust,
        power,
        turns_a_minute,
    )
