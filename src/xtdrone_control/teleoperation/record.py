"""Sticks and measured motion of a flight, from CSV of four kinds and from PX4's ULog.

| kind | known by | units |
|---|---|---|
| ours | `t`, `stick_up`, ... | s, -1..1, m, rad; axes of this workspace |
| Tello Vision 1D (Android app) | `timestamp`, `Uyaw`, `Uz`, `Ux`, `Uy` | ms, %, cm, deg |
| DatCon (DJI) | `offsetTime`, `RC:Aileron`, ... | s, 1/10000, m, deg |
| ULog | .ulg with manual_control_setpoint | as PX4 |

Angles are turned into roll, pitch, yaw of xtdrone_dynamics.euler_zxy; yaw has no jumps.
"""

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import files
from xtdrone_core.errors import shown
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.euler_zxy import from_quaternion
from xtdrone_dynamics.quaternion import from_euler_array

from ..errors import TeleoperationError
from .control import STEP_S

STICKS = ("stick_up", "stick_yaw", "stick_forward", "stick_right")
MOTION = ("height", "yaw", "pitch", "roll")
_MIN_S = 1.0  # shortest record that is of any use [s]
_MAX_S = 3600.0
_DEGREES = math.pi / 180.0


@dataclass(frozen=True)
class Record:
    """A flight of K samples.

    Attributes:
        t_s: (K,) since the first sample [s], increasing.
        sticks: (K, 4) -1..1: up, counter-clockwise, forward, right.
        motion: (K, 4) height [m], yaw, pitch, roll [rad]; None where only sticks are known.
    """

    t_s: np.ndarray
    sticks: np.ndarray
    motion: np.ndarray | None

    def between(self, begin: float, end: float) -> "Record":
        """Returns the stretch between two times [s], which begins at 0 again.

        Raises:
            TeleoperationError: It holds less than a second.
        """
        chosen = (self.t_s >= begin) & (self.t_s <= end)
        if chosen.sum() < 2 or np.ptp(self.t_s[chosen]) < _MIN_S:
            raise TeleoperationError(
                f"the record has {self.t_s[-1]:.1f} s, and from {begin:g} to "
                f"{min(end, self.t_s[-1]):g} s less than {_MIN_S:g} s"
            )
        t_s = self.t_s[chosen]
        motion = None if self.motion is None else self.motion[chosen]
        return Record(t_s - t_s[0], self.sticks[chosen], motion)

    def each_step(self) -> "Record":
        """Returns a sample every STEP_S, held until the next one, as the paper fills its log."""
        t_s = np.arange(int(self.t_s[-1] / STEP_S) + 1) * STEP_S
        last = np.searchsorted(self.t_s, t_s + 1e-9, side="right") - 1
        motion = None if self.motion is None else self.motion[last]
        return Record(t_s, self.sticks[last], motion)


def read(path: Path | str, motion: bool = True) -> Record:
    """Reads a flight record.

    Args:
        path: A CSV or ULog file.
        motion: Whether height and attitude are needed, too.

    Raises:
        TeleoperationError: It cannot be read, lacks columns, has values that are not finite, times
            that do not increase, sticks that nobody moves, or is too short.
    """
    record = _read_ulog(path) if str(path).endswith(".ulg") else _read_csv(path, motion)
    _check(path, record)
    if motion and record.motion is None:
        raise TeleoperationError(f"'{path}' has sticks, but no {', '.join(MOTION)}")
    return record


def _check(path: Path | str, record: Record) -> None:
    steps = np.diff(record.t_s)
    if (steps <= 0.0).any():
        row = int(np.argmax(steps <= 0.0)) + 2
        raise TeleoperationError(f"'{path}': time does not increase at sample {row}")
    if len(record.t_s) < 2 or not _MIN_S <= record.t_s[-1] <= _MAX_S:
        length = record.t_s[-1] if len(record.t_s) else 0.0
        raise TeleoperationError(
            f"'{path}' has {length:.3g} s: give a record of {_MIN_S:g} to {_MAX_S:g} s"
        )
    largest = np.abs(record.sticks).max()
    if largest > 1.01:
        raise TeleoperationError(f"'{path}': a stick is {largest:.3g}, and sticks are -1 to 1")


def _read_csv(path: Path | str, motion: bool) -> Record:
    header, rows = _table(path)
    names = set(header)
    kinds: Sequence[tuple[str, Callable[..., Record]]] = (
        ("t", _ours),
        ("Uyaw", _tello_vision),
        ("offsetTime", _datcon),
    )
    for name, convert in kinds:
        if name in names:
            return convert(path, _Columns(path, header, rows), motion)
    raise TeleoperationError(
        f"'{path}' has none of the columns t, Uyaw and offsetTime: give a CSV "
        f"with t, {', '.join(STICKS)}, {', '.join(MOTION)}, a log of Tello "
        "Vision or DatCon, or a ULog"
    )


def _table(path: Path | str) -> tuple[list[str], list[list[str]]]:
    text = files.read_text(path, "flight record", 256 * files.MB, TeleoperationError)
    rows = csv.reader(text.splitlines())
    try:
        header = [name.strip() for name in next(rows)]
        return header, [row for row in rows if row]
    except StopIteration:
        raise TeleoperationError(f"'{path}' is empty") from None
    except csv.Error as error:
        raise TeleoperationError(f"'{path}' is no CSV: {shown(error)}") from error


class _Columns:
    """Columns of a table as numbers."""

    def __init__(self, path: Path | str, header: list[str], rows: list[list[str]]):
        self._path, self._header, self._rows = path, header, rows

    def first_of(self, *names: str) -> str:
        """Returns the first of these names that the table has."""
        for name in names:
            if name in self._header:
                return name
        raise TeleoperationError(f"'{self._path}' has no column '{' or '.join(names)}'")

    def has(self, name: str) -> bool:
        return name in self._header

    def numbers(self, name: str, hold: bool = False) -> np.ndarray:
        """Returns (K,) of a column; with hold an empty cell has the value of the row before."""
        column = self._header.index(self.first_of(name))
        values, last = np.empty(len(self._rows)), math.nan
        for k, row in enumerate(self._rows):
            word = row[column].strip() if column < len(row) else ""
            try:
                last = last if hold and not word else float(word)
            except ValueError:
                raise TeleoperationError(
                    f"'{self._path}': {name} is '{shown(word)}' in line {k + 2}, no number"
                ) from None
            values[k] = last
        if not hold and not np.isfinite(values).all():
            line = int(np.argmin(np.isfinite(values))) + 2
            raise TeleoperationError(
                f"'{self._path}': {name} is {values[line - 2]} in line {line}, give finite numbers"
            )
        return values


def _ours(path: Path | str, columns: _Columns, motion: bool) -> Record:
    t_s = columns.numbers("t")
    sticks = np.stack([columns.numbers(name) for name in STICKS], axis=1)
    if not motion and not all(map(columns.has, MOTION)):
        return Record(t_s - t_s[:1], sticks, None)
    moved = np.stack([columns.numbers(name) for name in MOTION], axis=1)
    moved[:, 1] = np.unwrap(moved[:, 1])
    return Record(t_s - t_s[:1], sticks, moved)


def _tello_vision(path: Path | str, columns: _Columns, motion: bool) -> Record:
    """Reads speeds in percent: Uz forward, Ux right, Uy up, Uyaw clockwise; pitch nose up."""
    get = {
        name: columns.numbers(name)
        for name in ("timestamp", "Uyaw", "Uz", "Ux", "Uy", "pitch", "roll", "yaw", "tof")
    }
    sticks = 0.01 * np.stack([get["Uy"], -get["Uyaw"], get["Uz"], get["Ux"]], axis=1)
    return Record(
        (get["timestamp"] - get["timestamp"][:1]) * 1e-3,
        sticks,
        _motion(0.01 * get["tof"], get["roll"], get["pitch"], get["yaw"]),
    )


def _datcon(path: Path | str, columns: _Columns, motion: bool) -> Record:
    """Reads DJI's sticks of 10000, right and up positive; angles north, east, down in degrees."""
    roll = columns.first_of("IMU_ATTI(0):roll", "IMU_ATTI(0):roll:C")
    suffix = roll.partition("roll")[2]
    height = columns.first_of(
        "General:relativeHeight", "General:vpsHeight", "IMU_ATTI(0):relativeHeight:C"
    )
    names = [
        "RC:Throttle",
        "RC:Rudder",
        "RC:Elevator",
        "RC:Aileron",
        height,
        *(f"IMU_ATTI(0):{angle}{suffix}" for angle in ("roll", "pitch", "yaw")),
    ]
    t_s = columns.numbers("offsetTime")
    values = np.stack([columns.numbers(name, hold=True) for name in names], axis=1)
    known = np.isfinite(values).all(axis=1)  # before the first value of each, nothing is held
    keep = known & np.append(True, np.diff(t_s) != 0.0)  # a row for each sensor at one time
    if not keep.any():
        raise TeleoperationError(f"'{path}' never has values of all of {', '.join(names)}")
    t_s, values = t_s[keep], values[keep]
    return Record(
        t_s - t_s[0],
        values[:, :4] * [1e-4, -1e-4, 1e-4, 1e-4],
        _motion(values[:, 4], values[:, 5], values[:, 6], values[:, 7]),
    )


def _motion(height: np.ndarray, roll: np.ndarray, pitch: np.ndarray, yaw: np.ndarray) -> np.ndarray:
    """Returns (K, 4) from angles of north, east, down, nose up and clockwise positive [deg]."""
    quat = from_euler_array(_DEGREES * np.stack([roll, -pitch, -yaw], axis=1))
    return _axes(height, quat)


def _axes(height: np.ndarray, quat: np.ndarray) -> np.ndarray:
    """Returns (K, 4) height, yaw, pitch, roll for heights (K,) and attitudes (K, 4)."""
    angles = np.empty((len(quat), 3))
    _angles(np.ascontiguousarray(quat, dtype=float), angles)
    return np.stack([height, np.unwrap(angles[:, 2]), angles[:, 1], angles[:, 0]], axis=1)


@njit
def _angles(quat: np.ndarray, out: np.ndarray) -> None:
    for k in range(quat.shape[0]):
        out[k, 0], out[k, 1], out[k, 2] = from_quaternion(
            quat[k, 0], quat[k, 1], quat[k, 2], quat[k, 3]
        )


_PX4_STICKS = (("throttle", "yaw", "pitch", "roll"), ("z", "r", "x", "y"))  # since 1.14, before


def _read_ulog(path: Path | str) -> Record:
    """Reads PX4's manual_control_setpoint, vehicle_attitude and vehicle_local_position."""
    from xtdrone_autopilot.ulog.reader import FlightLog

    log = FlightLog(path)
    topics = {}
    for name in ("manual_control_setpoint", "vehicle_attitude", "vehicle_local_position"):
        topic = log.topic(name)
        if topic is None or not len(topic["t"]):
            raise TeleoperationError(f"'{path}' has no {name}: sticks and motion must be logged")
        topics[name] = topic
    manual, attitude, place = topics.values()
    manual = _valid(path, manual)
    t_s = np.asarray(attitude["t"])
    t_s = t_s[(t_s >= max(manual["t"][0], place["t"][0])) & (t_s <= manual["t"][-1])]
    q = np.stack([_held(attitude, f"q[{k}]", t_s) for k in (1, 2, 3, 0)], axis=1)
    # From north, east, down and forward, right, down: yaw is from north here, which is no matter.
    quat = q * [1.0, -1.0, -1.0, 1.0]
    names = next((names for names in _PX4_STICKS if names[0] in manual), None)
    if names is None:
        raise TeleoperationError(f"'{path}': manual_control_setpoint has no throttle")
    up, clockwise, forward, right = (_held(manual, name, t_s) for name in names)
    if names[0] == "z":
        up = 2.0 * up - 1.0
    sticks = np.stack([up, -clockwise, forward, right], axis=1)
    motion = _axes(-_held(place, "z", t_s), quat)
    if not (np.isfinite(sticks).all() and np.isfinite(motion).all()):
        raise TeleoperationError(f"'{path}' has sticks or motion that are not finite")
    return Record(t_s - t_s[:1], sticks, motion)


def _valid(path: Path | str, manual: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the samples with sticks: before and after them a vehicle flies by itself."""
    chosen = np.asarray(manual.get("valid", np.ones(len(manual["t"])))) != 0
    if not chosen.any():
        raise TeleoperationError(f"'{path}': manual_control_setpoint is never valid")
    return {name: np.asarray(values)[chosen] for name, values in manual.items()}


def _held(topic: Mapping[str, np.ndarray], name: str, t_s: np.ndarray) -> np.ndarray:
    """Returns the last values (K,) of a field at times of another topic."""
    last = np.searchsorted(topic["t"], t_s, side="right") - 1
    return np.asarray(topic[name], dtype=float)[np.maximum(last, 0)]


def write(path: Path | str, record: Record) -> None:
    """Writes a record as a CSV of ours, for a log made elsewhere or by the simulator."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        motion = () if record.motion is None else record.motion.T
        writer.writerow(["t", *STICKS, *(MOTION if len(motion) else ())])
        writer.writerows(
            zip(
                *(
                    np.round(column, 9).tolist()
                    for column in (record.t_s, *record.sticks.T, *motion)
                )
            )
        )
