"""Reference trajectories: position and yaw over time, from a file or by a built-in name."""

import inspect
import math
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from xtdrone_core import Scenario, XtdroneError, files, outputs
from xtdrone_core.errors import shown
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth
from xtdrone_core.tables import read_table

from ..datasets import formats, trajectory_file
from ..errors import SlamError
from . import tours

_COLUMNS = ("t", "x", "y", "z", "yaw")
_KNOT_S = 0.1  # minimum distance of spline knots; denser ones make the acceleration noisy [s]
_MAX_NUMBER = 1e6  # largest coordinate [m] and yaw [rad]
_POSES = (".csv", ".tum", ".txt")  # ends of names of files with poses
_MIN_STEP_S = 1e-6  # time between two rows [s]
_MIN_HEIGHT = 0.3  # trajectory's height; take-off and landing are flown in addition [m]

_CENTRE, _HEIGHT = (4.0, 3.0), 1.6  # built-in trajectories, in worlds/indoor.world [m]


class Reference(NamedTuple):
    """Reference state at one time."""

    pos: np.ndarray  # (3,) world [m]
    vel: np.ndarray  # (3,) [m/s]
    yaw: float  # counter-clockwise from east [rad]
    yaw_rate: float  # [rad/s]
    acc: np.ndarray  # (3,) [m/s^2]


class Trajectory:
    """Reference position and yaw over time: a cubic spline that starts and ends at rest."""

    def __init__(self, table: np.ndarray) -> None:
        """Fits samples.

        Args:
            table: (T, 5) time [s] increasing, position in the world [m], yaw counter-clockwise
                from east [rad].

        Raises:
            SlamError: Fewer than two samples, values that are not finite, times that do not
                increase, or a height below 0.3 m.
        """
        table = np.asarray(table, dtype=float)
        if (
            len(table) < 2
            or not (np.abs(table[:, 1:]) <= _MAX_NUMBER).all()
            or not (np.diff(table[:, 0]) > _MIN_STEP_S).all()
        ):
            raise SlamError(
                "a trajectory needs two rows or more, numbers within "
                f"{_MAX_NUMBER:g} and increasing times"
            )
        if table[:, 3].min() < _MIN_HEIGHT:
            raise SlamError(
                f"the trajectory descends to {table[:, 3].min():g} m: stay above "
                f"{_MIN_HEIGHT:g} m, since take-off and landing are flown in addition"
            )
        times = table[:, 0] - table[0, 0]
        self.duration = float(times[-1])  # [s]
        values = np.column_stack([table[:, 1:4], np.unwrap(table[:, 4])])
        knots = _knots(times)
        self._curve = CubicSpline(times[knots], values[knots], bc_type="clamped")

    def at(self, t: float) -> Reference:
        """Returns the reference at t [s]; at rest before the start and after the end."""
        inside = min(max(t, 0.0), self.duration)
        value = self._curve(inside)
        if 0.0 < t < self.duration:
            rate, acceleration = self._curve(inside, 1), self._curve(inside, 2)
        else:
            rate, acceleration = np.zeros(4), np.zeros(4)
        return Reference(value[:3], rate[:3], float(value[3]), float(rate[3]), acceleration[:3])


def load(name: str) -> Trajectory:
    """Loads a trajectory by name.

    Args:
        name: A name of BUILT_IN, a CSV file with t,x,y,z,yaw, a file as of
            trajectory_file.read(), or a run folder, whose flight (for example by keyboard) is
            repeated.

    Raises:
        SlamError: The file is missing or has another format.
    """
    if name in BUILT_IN:
        return Trajectory(BUILT_IN[name]())
    path = Path(os.path.expanduser(name))
    if files.is_folder(path):
        return Trajectory(read_flown(path))
    if path.suffix == ".csv" and not trajectory_file.is_euroc(path):
        return Trajectory(_read_csv(path))
    if path.suffix in _POSES:
        table = trajectory_file.read(path)
        axes = Rotation.from_quat(table[:, 4:]).as_matrix()[:, :, 0]
        return Trajectory(np.column_stack([table[:, :4], np.arctan2(axes[:, 1], axes[:, 0])]))
    raise SlamError(
        f"no trajectory '{shown(name)}': give {' or '.join(BUILT_IN)}, a file that ends in .csv "
        f"(t,x,y,z,yaw, or EuRoC's) or {' or '.join(_POSES[1:])}, or the run folder of a flight"
    )


def read_flown(folder: Path, vehicle: int = 0) -> np.ndarray:
    """Reads samples (T, 5) of the true trajectory of a vehicle in a run.

    They begin when the vehicle first rises above 0.5 m and end when it last descends below.

    Raises:
        SlamError: The folder contains no flight.
    """
    try:
        n = Scenario.load(Path(folder) / "scenario.yaml").n
        t_us, state = read_truth(Path(folder) / run_folder.TRUTH, n)
    except XtdroneError as error:
        raise SlamError(f"'{folder}' is not the run folder of a flight: {error}") from error
    state = state[:, vehicle]
    flying = np.flatnonzero(state[:, 2] > _MIN_HEIGHT + 0.2)
    if len(flying) < 2:
        raise SlamError(f"the vehicle of '{folder}' never flew above {_MIN_HEIGHT + 0.2:g} m")
    span = slice(flying[0], flying[-1] + 1)
    axis = Rotation.from_quat(state[span, 3:7]).as_matrix()[:, :, 0]
    position = state[span, :3].copy()
    position[:, 2] = np.maximum(position[:, 2], _MIN_HEIGHT)  # in case of a touch-down in between
    return np.column_stack(
        [
            (t_us[span] - t_us[flying[0]]) * 1e-6,
            position,
            np.unwrap(np.arctan2(axis[:, 1], axis[:, 0])),
        ]
    )


def write_csv(path: Path, table: np.ndarray) -> None:
    """Writes samples (T, 5) as a CSV file for load().

    Raises:
        SlamError: The file cannot be written, or is there and no trajectory.
    """
    head = ",".join(_COLUMNS)
    file = formats.LineFile(
        outputs.free_for(
            path, "trajectory", lambda ends: ends.startswith(head.encode()), SlamError
        ),
        head,
    )
    for row in table:
        file.write(",".join(f"{x:.6f}" for x in row))
    file.close()


def reference(step: float = 0.1) -> np.ndarray:
    """A loop around the hall of the indoor world in 48 s: samples (T, 5).

    It starts and ends at rest. The yaw oscillates by 100 degrees about the direction of flight,
    five times per loop, so that it changes much faster than the path does.

    Args:
        step: Time between two samples [s].
    """
    return _laps(48.0, 1, (4.0, 3.5), 0.4, math.radians(100.0), step)


def rounds(step: float = 0.1) -> np.ndarray:
    """Two level laps around the hall, 41 m in 56 s, with the yaw along the path: samples (T, 5).

    Args:
        step: Time between two samples [s].
    """
    return _laps(56.0, 2, (3.5, 3.0), 0.0, 0.0, step)


BUILT_IN = {
    "reference": reference,
    "rounds": rounds,
    "tour": tours.tour,
    "aisle": tours.aisle,
    "park": tours.park,
    "calibration": tours.calibration,
}


def descriptions() -> dict[str, str]:
    """Returns a line on each trajectory that has a name, for `xtdrone list`."""
    return {
        name: (inspect.getdoc(make) or "").split("\n\n")[0].replace("\n", " ")
        for name, make in BUILT_IN.items()
    }


def _laps(
    duration: float,
    count: int,
    radii: tuple[float, float],
    height_amplitude: float,
    yaw_amplitude: float,
    step: float,
) -> np.ndarray:
    """Returns samples (T, 5) of `count` laps on an ellipse, at rest at both ends.

    The height oscillates twice per lap by an amplitude [m], the yaw five times by another [rad].
    """
    x = np.linspace(0.0, 1.0, round(duration / step) + 1)
    laps = count * _eased(x)
    angle = math.pi + 2.0 * math.pi * laps
    position = np.column_stack(
        [
            _CENTRE[0] + radii[0] * np.cos(angle),
            _CENTRE[1] + radii[1] * np.sin(angle),
            _HEIGHT + height_amplitude * np.sin(2.0 * (angle - math.pi)),
        ]
    )
    course = np.arctan2(radii[1] * np.cos(angle), -radii[0] * np.sin(angle))
    yaw = np.unwrap(course) + yaw_amplitude * np.sin(2.0 * math.pi * 5 * laps)
    return np.column_stack([duration * x, position, yaw])


def _knots(times: np.ndarray) -> list[int]:
    """Returns indices of samples at least _KNOT_S apart, including the first and the last."""
    kept = [0]
    for index, t in enumerate(times[:-1]):
        if t - times[kept[-1]] >= _KNOT_S - 1e-9 and times[-1] - t >= 0.5 * _KNOT_S:
            kept.append(index)
    return [*kept, len(times) - 1]


def _eased(x: np.ndarray, ramp: float = 0.1) -> np.ndarray:
    """Maps 0 to 1 at constant speed with a smooth start and end, each of the fraction `ramp`."""
    speed = np.clip(np.minimum(x, 1.0 - x) / ramp, 0.0, 1.0)
    speed = speed * speed * (3.0 - 2.0 * speed)
    distance = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]))])
    return distance / distance[-1]


def _read_csv(path: Path) -> np.ndarray:
    rows = read_table(path, "trajectory", SlamError)
    if not rows or rows[0] != list(_COLUMNS):
        raise SlamError(f"'{path}' does not begin with the row {','.join(_COLUMNS)}")
    table = []
    for number, row in enumerate(rows[1:], 1):
        try:
            t, x, y, z, yaw = map(float, row)
        except ValueError as error:
            raise SlamError(
                f"row {number} of '{shown(path)}' is '{shown(','.join(row))}': give five numbers, "
                f"{','.join(_COLUMNS)}"
            ) from error
        table.append((t, x, y, z, yaw))
    return np.array(table).reshape(-1, len(_COLUMNS))
