"""Shadows of a directional light: a depth map seen from the light, and look-ups in it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xtdrone_dynamics.compiled import njit

_GROWTH = 1.5  # steps of a map's reach, so that edges do not flicker while the camera moves
_BACK = 400.0  # what casts shadows is at most so far from the middle, along the light [m]


@dataclass(frozen=True)
class ShadowMap:
    """Depth along a light's direction in a square of the world.

    Attributes:
        middle: (3,) of the square, world [m].
        axes: (3, 3) rows: right and up in the map, and towards the light.
        reach: Half its side [m].
        depth: (n, n) float32 distance from a plane _BACK before the middle [m], inf for nothing.
    """

    middle: np.ndarray
    axes: np.ndarray
    reach: float
    depth: np.ndarray


def axes_of(towards: np.ndarray) -> np.ndarray:
    """The axes of a map of a light in direction `towards` (3,)."""
    aside = np.array([0.0, 1.0, 0.0]) if abs(towards[2]) > 0.99 else np.array([0.0, 0.0, 1.0])
    right = np.cross(aside, towards)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(towards, right), towards])


def steady(middle: np.ndarray, reach: float, axes: np.ndarray,
           side: int) -> tuple[np.ndarray, float]:
    """A middle and a reach near these, in steps: edges stay where they are on the ground."""
    reach = _GROWTH ** math.ceil(math.log(reach, _GROWTH))
    step = 32.0 * 2.0 * reach / side
    return step * np.round(axes @ middle / step) @ axes, reach


def draw(render: Callable[..., np.ndarray], middle: np.ndarray, reach: float, axes: np.ndarray,
         side: int) -> ShadowMap:
    """A map, drawn from the light.

    Args:
        render: Called with position, forward, up, half the width, farthest distance and side;
            returns (side, side) distances.
        middle, reach, axes: See ShadowMap.
        side: [pixels].
    """
    depth = render(middle + _BACK * axes[2], -axes[2], axes[1], reach, 2.0 * _BACK, side)
    return ShadowMap(middle, axes, reach, depth)


class Maps:
    """Shadow maps as lit() takes them; the first one that a point is in counts.

    Attributes:
        depth: (M, n, n) their depth, each in the first rows and columns.
        places: (M, 14) middle, axes, reach and side.
    """

    def __init__(self, count: int, side: int):
        """Space for `count` maps of at most `side` pixels; none hides anything."""
        self.depth = np.full((count, side, side), np.inf, dtype=np.float32)
        self.places = np.ones((count, 14))

    def put(self, k: int, each: ShadowMap) -> None:
        """Puts a map in place k."""
        side = len(each.depth)
        self.depth[k, :side, :side] = each.depth
        self.places[k] = [*each.middle, *each.axes.ravel(), each.reach, side]


@njit(inline="always")
def lit(depth: np.ndarray, places: np.ndarray, x: float, y: float, z: float,
        nx: float, ny: float, nz: float) -> float:
    """Share of a light that reaches a point, 0..1; all of it outside the maps.

    Args:
        depth, places: See Maps.
        x, y, z: The point, world [m].
        nx, ny, nz: Its surface's normal.
    """
    for m in range(depth.shape[0]):
        p = places[m]
        reach, side = p[12], p[13]
        texel = 2.0 * reach / side
        # Off the surface by more than a pixel of the map: it must not shadow itself.
        shift = 1.6 * texel
        dx, dy, dz = x + shift * nx - p[0], y + shift * ny - p[1], z + shift * nz - p[2]
        u = (dx * p[3] + dy * p[4] + dz * p[5] + reach) / texel - 0.5
        v = (dx * p[6] + dy * p[7] + dz * p[8] + reach) / texel - 0.5
        if not (2.0 <= u < side - 3.0 and 2.0 <= v < side - 3.0):
            continue
        away = 400.0 - (dx * p[9] + dy * p[10] + dz * p[11]) - 0.5 * texel
        i, j = int(u), int(v)
        a, b = u - i, v - j
        total = 0.0
        for k in range(-1, 3):  # the mean of 3 by 3 pixels around the point, by parts of pixels
            weight = (1.0 - b if k == -1 else b if k == 2 else 1.0) / 9.0
            for h in range(-1, 3):
                if depth[m, j + k, i + h] >= away:
                    total += weight * (1.0 - a if h == -1 else a if h == 2 else 1.0)
        return total
    return 1.0
