"""Geometry of a view in 3D: the grid with its axes, and the camera that frames points.

All points are in the world, east, north, up [m]; angles of the camera are in degrees, as pyqtgraph
takes them: the azimuth from east counter-clockwise, the elevation above the horizon.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FILLED = 0.88  # part of the picture that the points fill, so that there is room for labels
_MIN_DISTANCE = 4.0  # smallest distance of the camera from what it shows [m]
_MAX_CELLS = 7  # most cells of the grid along its longest side
_PADDING = 0.12  # margin of the grid at each side, by the points' width
_TICK = 0.035  # distance of an axis from its numbers, by the longest side
_NEAR_GROUND = 2.0  # height of the points in their own widths, below which the ground is shown too


@dataclass(frozen=True)
class Scale:
    """The grid below what is shown, with its axes."""

    low: np.ndarray  # (3,) corner; low[2] is the height of the grid
    high: np.ndarray  # (3,)
    step: float  # between two lines [m]
    on_ground: bool  # else below points that are far above the ground

    @property
    def corners(self) -> np.ndarray:
        """Corners (8, 3) of the box around what is shown."""
        return np.array(
            [
                (x, y, z)
                for x in (self.low[0], self.high[0])
                for y in (self.low[1], self.high[1])
                for z in (self.low[2], self.high[2])
            ]
        )

    def lines(self) -> np.ndarray:
        """Returns the lines (K, 2, 3) of the grid."""
        (x0, y0, z), (x1, y1, _) = self.low, self.high
        along = [[(x, y0, z), (x, y1, z)] for x in (x0, *self._ticks(0), x1)]
        across = [[(x0, y, z), (x1, y, z)] for y in (y0, *self._ticks(1), y1)]
        return np.array(along + across)

    def _ticks(self, axis: int) -> np.ndarray:
        first, last = (
            math.ceil(self.low[axis] / self.step - 1e-9),
            math.floor(self.high[axis] / self.step + 1e-9),
        )
        return self.step * np.arange(first, last + 1)

    def axes(self, azimuth: float) -> tuple[np.ndarray, list[tuple[np.ndarray, str]]]:
        """Draws the three axes along the edges in front, and at the left for the height.

        Args:
            azimuth: Azimuth of the camera [deg].

        Returns:
            (K, 2, 3) lines with ticks, and the labels with their places.
        """
        east, north = math.cos(math.radians(azimuth)), math.sin(math.radians(azimuth))
        x = self.high[0] if east > 0 else self.low[0]  # the edges that face the camera
        y = self.high[1] if north > 0 else self.low[1]
        others = self.low[0] + self.high[0] - x, self.low[1] + self.high[1] - y
        # Of the two corners at the sides, the one that is at the left.
        corner = np.array(
            min(((x, others[1]), (others[0], y)), key=lambda at: -north * at[0] + east * at[1])
        )
        out = _TICK * float((self.high - self.low).max())
        side = out * np.sign(corner - 0.5 * (self.low + self.high)[:2])
        z = self.low[2]
        lines, labels = [], []
        for axis, origin, direction, name in (
            (0, (self.low[0], y, z), (0.0, math.copysign(out, north), 0.0), "x east [m]"),
            (1, (x, self.low[1], z), (math.copysign(out, east), 0.0, 0.0), "y north [m]"),
            (2, (*corner, z), (*side, 0.0), "z up [m]"),
        ):
            start, away = np.array(origin), np.array(direction)
            end = start.copy()
            end[axis] = self.high[axis]
            lines.append((start, end))
            for at in self._ticks(axis):
                tick = start.copy()
                tick[axis] = at
                lines.append((tick, tick + 0.4 * away))
                labels.append((tick + 1.1 * away, f"{at + 0.0:g}"))
            labels.append(
                (end + (0.0, 0.0, out), name)
                if axis == 2
                else (0.5 * (start + end) + 3.0 * away, name)
            )
        return np.array(lines), labels


def scale(points: npt.ArrayLike, ground: float) -> Scale:
    """Returns a grid that lies below points and reaches around them.

    Args:
        points: (K, 3) [m].
        ground: Height of the ground [m].
    """
    points = np.asarray(points)
    low, high = points.min(axis=0), points.max(axis=0)
    wide = max(float((high - low)[:2].max()), 2.0)
    pad = _PADDING * wide
    low[:2], high[:2] = low[:2] - pad, high[:2] + pad
    on_ground = low[2] - ground <= _NEAR_GROUND * wide
    low[2] = min(ground, low[2]) if on_ground else low[2] - pad
    high[2] = max(high[2] + pad, low[2] + 0.2 * wide)
    return Scale(low, high, nice(float((high - low).max()) / _MAX_CELLS), bool(on_ground))


def nice(value: float) -> float:
    """Returns the smallest of 1, 2, 5, 10, 20, ... that is not below a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= value * (1.0 - 1e-9)
    )


def directions(azimuth: float, elevation: float) -> np.ndarray:
    """Returns the axes of a camera as rows (3, 3): right, up, and back to it; angles in degrees."""
    a, e = math.radians(azimuth), math.radians(elevation)
    return np.array(
        [
            (-math.sin(a), math.cos(a), 0.0),
            (-math.sin(e) * math.cos(a), -math.sin(e) * math.sin(a), math.cos(e)),
            (math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)),
        ]
    )


def frame(
    points: npt.ArrayLike, azimuth: float, elevation: float, fov: float, aspect: float
) -> tuple[np.ndarray, float]:
    """Finds where a camera must look, and from how far, to show all points.

    Args:
        points: (K, 3) [m].
        azimuth, elevation: Azimuth and elevation of the camera [deg].
        fov: Horizontal angle of view [deg].
        aspect: Width of the picture through its height.

    Returns:
        The point (3,) in the middle of the picture, and the distance of the camera from it [m].
    """
    axes = directions(azimuth, elevation)
    right, up, back = axes @ np.asarray(points, dtype=float).T
    slope = FILLED * math.tan(math.radians(0.5 * fov)) * np.array([1.0, 1.0 / aspect])
    # A camera at (u, v, w) in these axes sees a point where |right - u| <= slope (w - back); each
    # pair of bounds gives u, v and the least w by itself.
    high = [(side + tan * back).max() for side, tan in zip((right, up), slope)]
    low = [(side - tan * back).min() for side, tan in zip((right, up), slope)]
    place = [0.5 * (a + b) for a, b in zip(high, low)]
    minimum = max((a - b) / (2.0 * tan) for a, b, tan in zip(high, low, slope))
    middle = 0.5 * (back.min() + back.max())
    distance = max(minimum - middle, _MIN_DISTANCE)
    return np.array([*place, middle]) @ axes, float(distance)
