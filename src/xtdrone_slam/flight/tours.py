"""Reference trajectories along way-points, for worlds that a lidar sees: samples (T, 5)."""

import math
from collections.abc import Sequence

import numpy as np

_SPACING = 0.05  # between the points of a path [m]
_SMOOTHING = 2.0  # length over which corners are rounded [m]
_RAMP_S = 3.0  # time in which the speed rises and falls [s]

_TOUR = [
    (-6, 1.5), (0, 0.3), (1.5, 2.5), (1.5, 7), (0, 8.4), (-3.5, 8.8), (-6, 9.5), (-7.8, 9.3),
    (-8.4, 6.4), (-13, 6.2), (-13, 2), (-12.5, 0), (-8, -0.2), (-7, -2.5), (-7, -6.5),
    (-4.5, -9), (1, -9), (3.3, -9.2), (7.6, -9.4), (8.5, -7), (8.5, -1.5), (8.6, 1.5), (10, 3),
    (10, 6.4), (12, 8), (14.2, 7), (12.5, 5.2), (10, 5.6), (10, 2.6), (8, 0), (-6, 0),
]  # of worlds/hall.world: through all rooms [m]  # fmt: skip
_AISLE = [(0, 0), (68, 0)]  # of worlds/corridor.world [m]
# Middle, amplitude and frequency of x, y, z [m] and yaw [rad] before a board [Hz].
_SHAKEN = (1.2, 0.35, 0.37), (0.0, 0.5, 0.31), (1.6, 0.35, 0.43), (0.0, 0.3, 0.26)


def tour(step: float = 0.1) -> np.ndarray:
    """A tour of the rooms of the world hall, 105 m at 1.5 m/s, the yaw along the path.

    Args:
        step: Time between two samples [s].
    """
    return along(_TOUR, 1.5, 1.5, step)


def aisle(step: float = 0.1) -> np.ndarray:
    """Through the world corridor and backwards again, 136 m at 2 m/s.

    Args:
        step: Time between two samples [s].
    """
    there = along(_AISLE, 1.5, 2.0, step)
    back = there[::-1].copy()
    back[:, 0] = there[-1, 0] + step + there[:, 0]
    return np.concatenate([there, back])


def park(step: float = 0.1) -> np.ndarray:
    """A lap between the houses of the world outdoor and back, 3 m high, at 3 m/s.

    Args:
        step: Time between two samples [s].
    """
    angles = np.linspace(-0.75 * math.pi, 1.25 * math.pi, 60)
    lap = np.column_stack([13.0 + 17.0 * np.cos(angles), 13.0 + 15.0 * np.sin(angles)])
    return along(lap.tolist(), 3.0, 3.0, step)


def calibration(step: float = 0.05) -> np.ndarray:
    """Before the board of the world calibration: along and about each axis, then all at once.

    Args:
        step: Time between two samples [s].
    """
    alone, together = 7.0, 16.0
    t = np.arange(0.0, 4.0 * alone + together + 0.5 * step, step)
    columns = [t]
    for k, (middle, part, rate) in enumerate(_SHAKEN):
        first = _swelling(t, k * alone, alone) * np.sin(2.0 * math.pi * 0.43 * (t - k * alone))
        last = _swelling(t, 4.0 * alone, together) * np.sin(2.0 * math.pi * rate * t)
        columns.append(middle + part * (first + last))
    return np.column_stack(columns)


def _swelling(t: np.ndarray, begin: float, duration: float) -> np.ndarray:
    """Returns a factor that rises from 0 to 1 and falls again in a while, smoothly."""
    share = np.clip((t - begin) / duration, 0.0, 1.0)
    return np.sin(math.pi * share) ** 2


def along(
    corners: Sequence[Sequence[float]], height: float, speed: float, step: float
) -> np.ndarray:
    """Returns samples (T, 5) of a path with round corners, at rest at both ends.

    Args:
        corners: Way-points x, y [m].
        height: Height of all of them [m].
        speed: Speed on the path [m/s].
        step: Time between two samples [s].
    """
    points = np.array(corners, dtype=float)
    lengths = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    at = np.arange(0.0, lengths[-1], _SPACING)
    path = np.column_stack([np.interp(at, lengths, points[:, axis]) for axis in range(2)])
    for _ in range(2):  # a moving average of a moving average has a continuous curvature
        path = _averaged(path)
    steps = np.hypot(*np.diff(path, axis=0).T)
    distance = np.concatenate([[0.0], np.cumsum(steps)])
    course = np.unwrap(np.arctan2(*np.gradient(path, axis=0).T[::-1]))
    yaw = _averaged(course[:, None])[:, 0]
    duration = distance[-1] / speed + _RAMP_S
    t = np.linspace(0.0, duration, round(duration / step) + 1)
    share = np.clip(np.minimum(t, duration - t) / _RAMP_S, 0.0, 1.0)
    rate = share * share * (3.0 - 2.0 * share)
    flown = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]))])
    flown *= distance[-1] / flown[-1]
    columns = [np.interp(flown, distance, values) for values in (*path.T, yaw)]
    return np.column_stack([t, *columns[:2], np.full(len(t), height), columns[2]])


def _averaged(values: np.ndarray) -> np.ndarray:
    """Returns the moving average of rows (T, K), whose ends stay."""
    half = round(0.5 * _SMOOTHING / _SPACING)
    padded = np.concatenate(
        [2 * values[:1] - values[half:0:-1], values, 2 * values[-1:] - values[-2 : -half - 2 : -1]]
    )
    sums = np.cumsum(np.concatenate([np.zeros((1, values.shape[1])), padded]), axis=0)
    width = 2 * half + 1
    return (sums[width:] - sums[:-width]) / width
