"""Reference trajectories: position and yaw over time, from a file or the built-in one."""

import csv
import math
from pathlib import Path

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from . import formats
from .errors import SlamError

_COLUMNS = ("t", "x", "y", "z", "yaw")

# The built-in flight: once around the hall of worlds/indoor.world.
_CENTRE, _RADII = (4.0, 3.0), (4.0, 3.5)  # of its ellipse [m]
_HEIGHT, _RISE = 1.6, 0.4  # mean, and amplitude of its change [m]
_DURATION = 48.0  # [s]
_SWING, _SWINGS = math.radians(100.0), 5  # of the yaw about the way ahead, and how often


class Trajectory:
    """Position and yaw that a vehicle shall follow; smooth between the samples."""

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
        if table[:, 3].min() < 0.3:
            raise SlamError(f"the trajectory comes down to {table[:, 3].min():g} m: stay above "
                            "0.3 m, as take-off and landing are flown in addition")
        self.duration = float(table[-1, 0] - table[0, 0])  # [s]
        values = np.column_stack([table[:, 1:4], np.unwrap(table[:, 4])])
        self._curve = PchipInterpolator(table[:, 0] - table[0, 0], values)
        self._slope = self._curve.derivative()

    def at(self, t: float):
        """Position (3,) [m], velocity (3,) [m/s], yaw [rad] and yaw rate [rad/s] at t [s].

        Before the beginning and after the end the vehicle stands still.
        """
        inside = min(max(t, 0.0), self.duration)
        place = self._curve(inside)
        slope = self._slope(inside) if 0.0 < t < self.duration else np.zeros(4)
        return place[:3], slope[:3], float(place[3]), float(slope[3])


def load(name: str) -> Trajectory:
    """A trajectory by name: `reference`, a CSV file with t,x,y,z,yaw, or a TUM file.

    Raises:
        SlamError: No such file, or not one of these formats.
    """
    if name == "reference":
        return Trajectory(reference())
    path = Path(name).expanduser()
    if path.suffix == ".tum":
        table = formats.read_tum(path)
        axes = Rotation.from_quat(table[:, 4:]).as_matrix()[:, :, 0]
        return Trajectory(np.column_stack([table[:, :4], np.arctan2(axes[:, 1], axes[:, 0])]))
    if path.suffix == ".csv":
        return Trajectory(_read_csv(path))
    raise SlamError(f"no trajectory '{name}': give reference, or a file that ends in .csv "
                    "(t,x,y,z,yaw) or .tum")


def reference(step: float = 0.1) -> np.ndarray:
    """Samples (T, 5) of a loop around the hall of the indoor world.

    It starts and ends at rest. The view swings 100 degrees to either side of the way ahead, five
    times in the loop, so that the yaw moves much faster than the path turns.

    Args:
        step: Between two samples [s].
    """
    x = np.linspace(0.0, 1.0, round(_DURATION / step) + 1)
    share = _eased(x)
    angle = math.pi + 2.0 * math.pi * share
    place = np.column_stack([_CENTRE[0] + _RADII[0] * np.cos(angle),
                             _CENTRE[1] + _RADII[1] * np.sin(angle),
                             _HEIGHT + _RISE * np.sin(2.0 * (angle - math.pi))])
    ahead = np.arctan2(_RADII[1] * np.cos(angle), -_RADII[0] * np.sin(angle))
    yaw = np.unwrap(ahead) + _SWING * np.sin(2.0 * math.pi * _SWINGS * share)
    return np.column_stack([_DURATION * x, place, yaw])


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
