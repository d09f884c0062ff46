"""Reference trajectories: position and yaw over time, from a file or by a built-in name."""

import csv
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from xtdrone_core import Scenario, XtdroneError
from xtdrone_core.truth_log import read_truth

from ..datasets import formats
from ..errors import SlamError

_COLUMNS = ("t", "x", "y", "z", "yaw")
_KNOT_S = 0.1  # samples that are nearer to each other are noise to the acceleration [s]
_LOWEST = 0.3  # a trajectory stays above; take-off and landing are flown in addition [m]

_CENTRE, _HEIGHT = (4.0, 3.0), 1.6  # of the built-in ways, in the hall of worlds/indoor.world [m]


class Reference(NamedTuple):
    """Where a vehicle shall be at one instant."""

    pos: np.ndarray  # (3,) world [m]
    vel: np.ndarray  # (3,) [m/s]
    yaw: float  # counter-clockwise from east [rad]
    yaw_rate: float  # [rad/s]
    acc: np.ndarray  # (3,) [m/s^2]


class Trajectory:
    """Position and yaw that a vehicle shall follow: a cubic spline that starts and ends at rest."""

    def __init__(self, table: np.ndarray):
        """From samples.

        Args:
            table: (T, 5) time [s] rising, place in the world [m], yaw counter-clockwise from
                east [rad].

        Raises:
            SlamError: Fewer than two samples, numbers that are not finite, or times that do not
                rise.
        """
        table = np.asarray(table, dtype=float)
        if len(table) < 2 or not np.isfinite(table).all() or (np.diff(table[:, 0]) <= 0).any():
            raise SlamError("a trajectory needs two rows or more, finite numbers and rising times")
        if table[:, 3].min() < _LOWEST:
            raise SlamError(f"the trajectory comes down to {table[:, 3].min():g} m: stay above "
                            f"{_LOWEST:g} m, as take-off and landing are flown in addition")
        times = table[:, 0] - table[0, 0]
        self.duration = float(times[-1])  # [s]
        values = np.column_stack([table[:, 1:4], np.unwrap(table[:, 4])])
        knots = _thinned(times)
        self._curve = CubicSpline(times[knots], values[knots], bc_type="clamped")

    def at(self, t: float) -> Reference:
        """The reference at t [s]; before the beginning and after the end it stands still."""
        inside = min(max(t, 0.0), self.duration)
        place = self._curve(inside)
        if 0.0 < t < self.duration:
            slope, bend = self._curve(inside, 1), self._curve(inside, 2)
        else:
            slope, bend = np.zeros(4), np.zeros(4)
        return Reference(place[:3], slope[:3], float(place[3]), float(slope[3]), bend[:3])


def load(name: str) -> Trajectory:
    """A trajectory by name.

    Args:
        name: `reference`, `rounds`, a CSV file with t,x,y,z,yaw, a TUM file, or a run folder,
            whose flight, for example by keyboard, is flown again.

    Raises:
        SlamError: No such file, or not one of these formats.
    """
    if name in BUILT_IN:
        return Trajectory(BUILT_IN[name]())
    path = Path(name).expanduser()
    if path.is_dir():
        return Trajectory(flown(path))
    if path.suffix == ".tum":
        table = formats.read_tum(path)
        axes = Rotation.from_quat(table[:, 4:]).as_matrix()[:, :, 0]
        return Trajectory(np.column_stack([table[:, :4], np.arctan2(axes[:, 1], axes[:, 0])]))
    if path.suffix == ".csv":
        return Trajectory(_read_csv(path))
    raise SlamError(f"no trajectory '{name}': give {' or '.join(BUILT_IN)}, a file that "
                    "ends in .csv (t,x,y,z,yaw) or .tum, or the run folder of a flight")


def flown(folder: Path, vehicle: int = 0) -> np.ndarray:
    """Samples (T, 5) of what a vehicle of a run flew, from its true poses.

    From the first moment above 0.5 m to the last.

    Raises:
        SlamError: The folder holds no flight.
    """
    try:
        n = Scenario.load(Path(folder) / "scenario.yaml").n
        t_us, state = read_truth(Path(folder) / "truth.bin", n)
    except XtdroneError as error:
        raise SlamError(f"'{folder}' is no run folder of a flight: {error}") from error
    state = state[:, vehicle]
    up = np.flatnonzero(state[:, 2] > _LOWEST + 0.2)
    if len(up) < 2:
        raise SlamError(f"the vehicle of '{folder}' never flew above {_LOWEST + 0.2:g} m")
    whole = slice(up[0], up[-1] + 1)
    axis = Rotation.from_quat(state[whole, 3:7]).as_matrix()[:, :, 0]
    place = state[whole, :3].copy()
    place[:, 2] = np.maximum(place[:, 2], _LOWEST)  # a touch-down in between
    return np.column_stack([(t_us[whole] - t_us[up[0]]) * 1e-6, place,
                            np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))])


def write_csv(path: Path, table: np.ndarray) -> None:
    """Writes samples (T, 5) as a file that load() reads."""
    file = formats.LineFile(path, ",".join(_COLUMNS))
    for row in table:
        file.write(",".join(f"{x:.6f}" for x in row))
    file.close()


def reference(step: float = 0.1) -> np.ndarray:
    """Samples (T, 5) of a loop around the hall of the indoor world in 48 s.

    It starts and ends at rest. The view swings 100 degrees to either side of the way ahead, five
    times in the loop, so that the yaw moves much faster than the path turns.

    Args:
        step: Between two samples [s].
    """
    return _around(48.0, 1, (4.0, 3.5), 0.4, math.radians(100.0), step)


def rounds(step: float = 0.1) -> np.ndarray:
    """Samples (T, 5) of two level rounds of the hall, 41 m in 56 s, with the view ahead.

    Args:
        step: Between two samples [s].
    """
    return _around(56.0, 2, (3.5, 3.0), 0.0, 0.0, step)


BUILT_IN = {"reference": reference, "rounds": rounds}


def _around(duration, count, radii, rise, swing, step):
    """Samples (T, 5) of `count` rounds on an ellipse, at rest at both ends.

    The height swings by `rise` [m] twice in a round, the view by `swing` [rad] five times.
    """
    x = np.linspace(0.0, 1.0, round(duration / step) + 1)
    share = count * _eased(x)
    angle = math.pi + 2.0 * math.pi * share
    place = np.column_stack([_CENTRE[0] + radii[0] * np.cos(angle),
                             _CENTRE[1] + radii[1] * np.sin(angle),
                             _HEIGHT + rise * np.sin(2.0 * (angle - math.pi))])
    ahead = np.arctan2(radii[1] * np.cos(angle), -radii[0] * np.sin(angle))
    yaw = np.unwrap(ahead) + swing * np.sin(2.0 * math.pi * 5 * share)
    return np.column_stack([duration * x, place, yaw])


def _thinned(times):
    """Indices of samples that are _KNOT_S apart or more; the first and the last are among them."""
    kept = [0]
    for index, t in enumerate(times[:-1]):
        if t - times[kept[-1]] >= _KNOT_S - 1e-9 and times[-1] - t >= 0.5 * _KNOT_S:
            kept.append(index)
    return [*kept, len(times) - 1]


def _eased(x, ramp=0.1):
    """0 to 1 at constant speed but for a smooth start and end; ramp is their share of the time."""
    speed = np.clip(np.minimum(x, 1.0 - x) / ramp, 0.0, 1.0)
    speed = speed * speed * (3.0 - 2.0 * speed)
    share = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]))])
    return share / share[-1]


def _read_csv(path):
    rows = formats.read_rows(path)
    if not rows or [word.strip() for word in rows[0].split(",")] != list(_COLUMNS):
        raise SlamError(f"'{path}' does not begin with the row {','.join(_COLUMNS)}")
    try:
        table = np.array([[float(row[name]) for name in _COLUMNS] for row in
                          csv.DictReader([",".join(_COLUMNS), *rows[1:]])])
        return table.reshape(-1, 5)
    except (TypeError, ValueError) as error:
        raise SlamError(f"'{path}' has a row that is not five numbers: {error}") from error
