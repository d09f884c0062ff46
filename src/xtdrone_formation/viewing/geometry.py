"""Geometry of the viewer: shapes of vehicles, lines, scales and the camera, without any window.

All points are in the world, east, north, up [m]; angles of the camera are in degrees, as pyqtgraph
takes them: the azimuth from east counter-clockwise, the elevation above the horizon.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SPAN = 0.5  # least width of a drawn vehicle [m]
_PART = 0.045  # of the distance of the camera, that a vehicle of a small fleet is wide at least
_SMALL = 30  # vehicles of a small fleet; those of larger ones are drawn smaller
_MARGIN = 0.88  # part of the picture that is filled, so that there is room for labels
_NEAREST = 4.0  # of the camera to the middle of what it shows [m]
_CELLS = 7  # of the grid along its longest side, at most
_PAD = 0.12  # of the fleet's width, that the grid is wider at each side
_TICK = 0.035  # of the longest side, between an axis and its numbers
_NEAR_GROUND = 2.0  # height of a fleet in its own widths, below which the ground is shown too
_LIGHT = np.array([-0.35, -0.5, 0.8])  # direction towards the light


@dataclass(frozen=True)
class Body:
    """The shape of a vehicle: width 1, the nose along x."""

    triangles: np.ndarray  # (F, 3, 3)
    shade: np.ndarray  # (F,) brightness, 0 to 1
    dark: np.ndarray  # (F,) bool: the nose, in a dark colour


@dataclass(frozen=True)
class Scale:
    """The grid below the fleet with its axes."""

    low: np.ndarray  # (3,) corner; low[2] is the height of the grid
    high: np.ndarray  # (3,)
    step: float  # between two lines [m]
    on_ground: bool  # else below a fleet that is far above the ground

    @property
    def corners(self) -> np.ndarray:
        """(8, 3) of the box around the fleet."""
        return np.array(
            [
                (x, y, z)
                for x in (self.low[0], self.high[0])
                for y in (self.low[1], self.high[1])
                for z in (self.low[2], self.high[2])
            ]
        )

    def lines(self) -> np.ndarray:
        """(K, 2, 3) lines of the grid."""
        (x0, y0, z), (x1, y1, _) = self.low, self.high
        along = [[(x, y0, z), (x, y1, z)] for x in (x0, *self._ticks(0), x1)]
        across = [[(x0, y, z), (x1, y, z)] for y in (y0, *self._ticks(1), y1)]
        return np.array(along + across)

    def _ticks(self, axis):
        first, last = (
            math.ceil(self.low[axis] / self.step - 1e-9),
            math.floor(self.high[axis] / self.step + 1e-9),
        )
        return self.step * np.arange(first, last + 1)

    def axes(self, azimuth: float) -> tuple[np.ndarray, list[tuple[np.ndarray, str]]]:
        """The three axes along the edges that are in front, or at the left for the height.

        Args:
            azimuth: Of the camera [deg].

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
        for axis, start, away, name in (
            (0, (self.low[0], y, z), (0.0, math.copysign(out, north), 0.0), "x east [m]"),
            (1, (x, self.low[1], z), (math.copysign(out, east), 0.0, 0.0), "y north [m]"),
            (2, (*corner, z), (*side, 0.0), "z up [m]"),
        ):
            start, away = np.array(start), np.array(away)
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
    """A grid that lies below points (K, 3) and reaches around them.

    Args:
        points: The vehicles and their slots.
        ground: Height of the ground [m].
    """
    points = np.asarray(points)
    low, high = points.min(axis=0), points.max(axis=0)
    wide = max(float((high - low)[:2].max()), 2.0)
    pad = _PAD * wide
    low[:2], high[:2] = low[:2] - pad, high[:2] + pad
    on_ground = low[2] - ground <= _NEAR_GROUND * wide
    low[2] = min(ground, low[2]) if on_ground else low[2] - pad
    high[2] = max(high[2] + pad, low[2] + 0.2 * wide)
    return Scale(low, high, nice(float((high - low).max()) / _CELLS), bool(on_ground))


def nice(value: float) -> float:
    """The least of 1, 2, 5, 10, 20, ... times a power of ten that is not below a value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= value * (1.0 - 1e-9)
    )


def directions(azimuth: float, elevation: float) -> np.ndarray:
    """(3, 3) rows: to the right, up, and back to the camera, of a camera at these angles [deg]."""
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
    """Where a camera must look, and from how far, to show all points.

    Args:
        points: (K, 3) [m].
        azimuth, elevation: Of the camera [deg].
        fov: Horizontal angle of view [deg].
        aspect: Width of the picture through its height.

    Returns:
        The point (3,) in the middle of the picture, and the distance of the camera from it [m].
    """
    axes = directions(azimuth, elevation)
    right, up, back = axes @ np.asarray(points, dtype=float).T
    slope = _MARGIN * math.tan(math.radians(0.5 * fov)) * np.array([1.0, 1.0 / aspect])
    # A camera at (u, v, w) in these axes sees a point where |right - u| <= slope (w - back); each
    # pair of bounds gives u, v and the least w by itself.
    high = [(side + tan * back).max() for side, tan in zip((right, up), slope)]
    low = [(side - tan * back).min() for side, tan in zip((right, up), slope)]
    place = [0.5 * (a + b) for a, b in zip(high, low)]
    least = max((a - b) / (2.0 * tan) for a, b, tan in zip(high, low, slope))
    middle = 0.5 * (back.min() + back.max())
    distance = max(least - middle, _NEAREST)
    return np.array([*place, middle]) @ axes, float(distance)


def width(distance: float, n: int) -> float:
    """Of one of n drawn vehicles [m], so that it is seen from a distance of the camera [m]."""
    return max(SPAN, _PART * min(1.0, _SMALL / n) ** 0.3 * distance)


def placed(body: Body, pos: np.ndarray, yaw: np.ndarray, span: float) -> np.ndarray:
    """(N * F, 3, 3) triangles of vehicles at positions (N, 3) with headings (N,) [rad]."""
    c, s = span * np.cos(yaw)[:, None, None], span * np.sin(yaw)[:, None, None]
    x, y, z = np.moveaxis(body.triangles, -1, 0)
    out = np.empty((len(pos), *body.triangles.shape), dtype=np.float32)
    out[..., 0] = c * x - s * y + pos[:, 0, None, None]
    out[..., 1] = s * x + c * y + pos[:, 1, None, None]
    out[..., 2] = span * z + pos[:, 2, None, None]
    return out.reshape(-1, 3, 3)


def drops(pos: np.ndarray, floor: float) -> np.ndarray:
    """(N, 2, 3) vertical lines from the vehicles to a height [m]."""
    lines = np.stack([pos, pos], axis=1)
    lines[:, 1, 2] = floor
    return lines


def diamonds(places: np.ndarray, span: float) -> np.ndarray:
    """(N * 12, 2, 3) edges of octahedra with half a diagonal of `span` [m]."""
    return (places[:, None, None] + span * _DIAMOND).reshape(-1, 2, 3)


def _diamond():
    ends = np.concatenate([np.eye(3), -np.eye(3)])
    return np.array([(ends[i], ends[k]) for i in range(6) for k in range(i) if i - k != 3])


_DIAMOND = _diamond()


def _body(triangles, dark):
    triangles = np.array(triangles, dtype=float)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    shade = 0.72 + 0.28 * np.abs(normals @ (_LIGHT / np.linalg.norm(_LIGHT)))
    return Body(triangles, shade, np.array(dark))


def _multirotor() -> Body:
    """Four arms with a disc each, and a nose."""
    found, dark = [], []
    for k in range(4):
        angle = math.radians(45.0 + 90.0 * k)
        tip = 0.37 * np.array([math.cos(angle), math.sin(angle), 0.0])
        across = 0.035 * np.array([-math.sin(angle), math.cos(angle), 0.0])
        found += [(-across, across, tip + across), (-across, tip + across, tip - across)]
        rim = [
            tip + (0.2 * math.cos(a), 0.2 * math.sin(a), 0.06)
            for a in np.linspace(0.0, 2.0 * math.pi, 11)
        ]
        found += [(tip + (0.0, 0.0, 0.06), rim[i], rim[i + 1]) for i in range(10)]
    dark += [False] * len(found)
    base = [(0.12, 0.13, 0.0), (-0.16, 0.13, 0.0), (-0.16, -0.13, 0.0), (0.12, -0.13, 0.0)]
    found += [(base[i - 1], base[i], (-0.02, 0.0, 0.13)) for i in range(4)]
    dark += [False] * 4
    nose = (0.52, 0.0, 0.03)
    left, right, top = (0.1, 0.15, 0.0), (0.1, -0.15, 0.0), (0.1, 0.0, 0.12)
    found += [(left, nose, top), (nose, right, top), (right, left, nose)]
    dark += [True] * 3
    return _body(found, dark)


def _dart() -> Body:
    """An arrowhead, for many vehicles."""
    nose, left, right = (0.6, 0.0, 0.0), (-0.45, 0.42, 0.0), (-0.45, -0.42, 0.0)
    tail, top = (-0.25, 0.0, 0.0), (-0.2, 0.0, 0.28)
    return _body(
        [
            (nose, left, top),
            (right, nose, top),
            (left, tail, top),
            (tail, right, top),
            (nose, tail, left),
            (nose, right, tail),
        ],
        [False] * 6,
    )


MULTIROTOR, DART = _multirotor(), _dart()
