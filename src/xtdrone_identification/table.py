"""Reads a CSV of a flight for identification; commands, motion and sensors on one grid of time.

| columns | what |
|---|---|
| `t` | time [s] |
| `command_0` ..., `speed_0` ... [rad/s], `rpm_0` ... [1/min] or `pwm_0` ... [us] | rotors, from 0 |
| `x`, `y`, `z`, and `vx`, `vy`, `vz` | position and velocity, east, north, up [m], [m/s] |
| `qx`, `qy`, `qz`, `qw`; or `roll`, `pitch`, `yaw` | attitude, forward, left, up [rad] |
| `gyro_x` ... or `wx` ... | body rates [rad/s] |
| `accel_x` ... | specific force [m/s^2] |

`m1_rads` ... are the names of speeds in the nano-drone benchmark (arXiv 2512.14450).
"""

import csv
import math
from pathlib import Path

import numpy as np

from xtdrone_core import files
from xtdrone_core.errors import shown
from xtdrone_dynamics.quaternion import from_euler_array

from .errors import IdentificationError
from .record import Record, Signal, record_of

_RPM = 2.0 * math.pi / 60.0
_PULSES = 1000.0, 2000.0  # [us]
# Forms of the names of a rotor's column: signal, first number, factor.
_DRIVES = (
    ("command_{}", "command", 0, 1.0),
    ("speed_{}", "speed", 0, 1.0),
    ("rpm_{}", "speed", 0, _RPM),
    ("m{}_rads", "speed", 1, 1.0),
    ("pwm_{}", "pulse", 0, 1.0),
)
_GROUPS = {
    "pos": (("x", "y", "z"),),
    "vel": (("vx", "vy", "vz"),),
    "quat": (("qx", "qy", "qz", "qw"),),
    "euler": (("roll", "pitch", "yaw"),),
    "gyro": (("gyro_x", "gyro_y", "gyro_z"), ("wx", "wy", "wz")),
    "accel": (("accel_x", "accel_y", "accel_z"),),
}


def read(path: Path, rotors: int) -> Record:
    """Reads a table.

    Args:
        path: The .csv file.
        rotors: Number of rotors of the vehicle.

    Raises:
        XtdroneError: It cannot be read, lacks columns, or has other units.
    """
    header, rows = _table(path)
    if "t" not in header:
        raise IdentificationError(
            f"'{path}' has no column t: give t [s], command_0 ..., x, y, z, qx, qy, qz, qw and, "
            "where they are known, vx ..., gyro_x ..., accel_x ..."
        )
    t_s = rows[:, header.index("t")]

    def columns(names: tuple[str, ...]) -> np.ndarray | None:
        if not all(name in header for name in names):
            return None
        return rows[:, [header.index(name) for name in names]]

    signals = {}
    for key, choices in _GROUPS.items():
        found = next((v for v in map(columns, choices) if v is not None), None)
        if found is not None:
            signals[key] = Signal(t_s, found)
    euler = signals.pop("euler", None)
    if euler is not None and "quat" not in signals:
        signals["quat"] = Signal(t_s, _attitudes(path, euler.values))
    notes = []
    for form, key, first, factor in _DRIVES:
        values = columns(tuple(form.format(first + k) for k in range(rotors)))
        if values is None:
            continue
        if key == "pulse":
            low, high = _PULSES
            values, key = np.clip((values - low) / (high - low), 0.0, 1.0), "command"
            notes.append(f"commands are pulses of {low:g} to {high:g} us, scaled to 0 to 1")
        signals[key] = Signal(t_s, factor * values)
        break
    whole = (float(np.nanmin(t_s)), float(np.nanmax(t_s))) if len(t_s) else (0.0, 0.0)
    return record_of(str(path), signals, [whole], tuple(notes))


def _attitudes(path: Path, angles: np.ndarray) -> np.ndarray:
    largest = float(np.nanmax(np.abs(angles[:, :2]), initial=0.0))
    if largest > math.pi:
        raise IdentificationError(
            f"'{path}': roll or pitch is {largest:.4g}, and angles are in rad: these seem to be in "
            "degrees"
        )
    return from_euler_array(angles)


def _table(path: Path) -> tuple[list[str], np.ndarray]:
    text = files.read_text(path, "table of a flight", 512 * files.MB, IdentificationError)
    lines = csv.reader(text.splitlines())
    header = [name.strip() for name in next(lines, [])]
    if not header:
        raise IdentificationError(f"'{path}' is empty: give a table with a line of names")
    rows = []
    for number, row in enumerate(lines, 2):
        if not row:
            continue
        try:
            rows.append([float(word) if word.strip() else math.nan for word in row])
        except ValueError:
            word = next(w for w in row if not _is_number(w))
            raise IdentificationError(
                f"'{path}': '{shown(word)}' in line {number} is no number"
            ) from None
        if len(row) != len(header):
            raise IdentificationError(
                f"'{path}': line {number} has {len(row)} columns, and the names are {len(header)}"
            )
    if not rows:
        raise IdentificationError(f"'{path}' has names, but no rows")
    return header, np.array(rows)


def _is_number(word: str) -> bool:
    try:
        float(word or "nan")
    except ValueError:
        return False
    return True
