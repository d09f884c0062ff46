"""Shapes of vehicles and slots, and lines of the viewer; world, east, north, up [m]."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

SPAN = 0.5  # minimum width of a drawn vehicle [m]
_MIN_FRACTION = 0.045  # minimum width of a vehicle of a small fleet, by the camera's distance
_SMALL_FLEET = 30  # vehicles; those of larger fleets are drawn smaller
_LIGHT = np.array([-0.35, -0.5, 0.8])  # direction towards the light


@dataclass(frozen=True)
class Body:
    """The shape of a vehicle: width 1, the nose along x."""

    triangles: np.ndarray  # (F, 3, 3)
    shade: np.ndarray  # (F,) brightness, 0 to 1
    dark: np.ndarray  # (F,) bool: the nose, in a dark colour


def width(distance: float, n: int) -> float:
    """Returns the width of one of n drawn vehicles, seen from a distance of the camera [m]."""
    return max(SPAN, _MIN_FRACTION * min(1.0, _SMALL_FLEET / n) ** 0.3 * distance)


def placed(body: Body, pos: np.ndarray, yaw: np.ndarray, span: float) -> np.ndarray:
    """Returns triangles (N * F, 3, 3) of vehicles at positions (N, 3) with headings (N,) [rad]."""
    c, s = span * np.cos(yaw)[:, None, None], span * np.sin(yaw)[:, None, None]
    x, y, z = np.moveaxis(body.triangles, -1, 0)
    out = np.empty((len(pos), *body.triangles.shape), dtype=np.float32)
    out[..., 0] = c * x - s * y + pos[:, 0, None, None]
    out[..., 1] = s * x + c * y + pos[:, 1, None, None]
    out[..., 2] = span * z + pos[:, 2, None, None]
    return out.reshape(-1, 3, 3)


def drops(pos: np.ndarray, floor: float) -> np.ndarray:
    """Returns vertical lines (N, 2, 3) from the vehicles to a height [m]."""
    lines = np.stack([pos, pos], axis=1)
    lines[:, 1, 2] = floor
    return lines


def diamonds(places: np.ndarray, span: float) -> np.ndarray:
    """Returns edges (N * 12, 2, 3) of octahedra with half a diagonal of `span` [m]."""
    return (places[:, None, None] + span * _DIAMOND).reshape(-1, 2, 3)


def _diamond() -> np.ndarray:
    ends = np.concatenate([np.eye(3), -np.eye(3)])
    return np.array([(ends[i], ends[k]) for i in range(6) for k in range(i) if i - k != 3])


_DIAMOND = _diamond()


def _body(triangles: list[Any], dark: list[bool]) -> Body:  # corners: tuples or arrays
    corners = np.array(triangles, dtype=float)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    shade = 0.72 + 0.28 * np.abs(normals @ (_LIGHT / np.linalg.norm(_LIGHT)))
    return Body(corners, shade, np.array(dark))


def _multirotor() -> Body:
    """Returns four arms with a disc each, and a nose."""
    triangles: list[Any] = []
    dark = []
    for k in range(4):
        angle = math.radians(45.0 + 90.0 * k)
        tip = 0.37 * np.array([math.cos(angle), math.sin(angle), 0.0])
        across = 0.035 * np.array([-math.sin(angle), math.cos(angle), 0.0])
        triangles += [(-across, across, tip + across), (-across, tip + across, tip - across)]
        rim = [
            tip + (0.2 * math.cos(a), 0.2 * math.sin(a), 0.06)
            for a in np.linspace(0.0, 2.0 * math.pi, 11)
        ]
        triangles += [(tip + (0.0, 0.0, 0.06), rim[i], rim[i + 1]) for i in range(10)]
    dark += [False] * len(triangles)
    base = [(0.12, 0.13, 0.0), (-0.16, 0.13, 0.0), (-0.16, -0.13, 0.0), (0.12, -0.13, 0.0)]
    triangles += [(base[i - 1], base[i], (-0.02, 0.0, 0.13)) for i in range(4)]
    dark += [False] * 4
    nose = (0.52, 0.0, 0.03)
    left, right, top = (0.1, 0.15, 0.0), (0.1, -0.15, 0.0), (0.1, 0.0, 0.12)
    triangles += [(left, nose, top), (nose, right, top), (right, left, nose)]
    dark += [True] * 3
    return _body(triangles, dark)


def _dart() -> Body:
    """Returns an arrowhead, for many vehicles."""
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
