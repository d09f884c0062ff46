"""Shadows of a directional light: a depth map seen from the light, and look-ups in it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xtdrone_dynamics.compiled import njit

SIDE = 2048  # side of the map of the world [pixels]
_NEARER = 1024  # pixels along a side of the map around what is seen
_SHELTERS = 512  # and of the map of where rain falls, whose edges are soft over a metre
_NEAR_REACH, _FAR_REACH = 3.0, 120.0  # least of the nearer map, and of the one of the world [m]
_ABOVE = np.array([0.0, 0.0, 1.0])
_GROWTH = 1.5  # steps of a map's reach, so that edges do not flicker while the camera moves
_STEADY = 32  # steps of the middle of the map of the world, in its width
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


def steady(
    middle: np.ndarray, reach: float, axes: np.ndarray, side: int
) -> tuple[np.ndarray, float]:
    """A middle and a reach near these, in steps: edges stay where they are on the ground."""
    reach = _GROWTH ** math.ceil(math.log(reach, _GROWTH))
    step = 32.0 * 2.0 * reach / side
    return step * np.round(axes @ middle / step) @ axes, reach


def draw(
    render: Callable[..., np.ndarray], middle: np.ndarray, reach: float, axes: np.ndarray, side: int
) -> ShadowMap:
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

    def __init__(self, count: int, side: int) -> None:
        """Space for `count` maps of at most `side` pixels; none hides anything."""
        self.depth = np.full((count, side, side), np.inf, dtype=np.float32)
        self.places = np.ones((count, 14))

    def put(self, k: int, each: ShadowMap) -> None:
        """Puts a map in place k."""
        side = len(each.depth)
        self.depth[k, :side, :side] = each.depth
        self.places[k] = [*each.middle, *each.axes.ravel(), each.reach, side]


class Shadows:
    """Shadows of what shines or falls in one direction: sun, or else rain, and lamps."""

    def __init__(self, sun: np.ndarray | None, rain: bool, parallel: np.ndarray) -> None:
        """Draws nothing yet.

        Args:
            sun: (3,) towards it; None where it casts no shadows.
            rain: Whether it rains; it falls straight down.
            parallel: (M, 3) unit vectors towards directional lamps.
        """
        self._towards = sun if sun is not None else _ABOVE if rain else None
        sides = [_NEARER, SIDE] if sun is not None else [_SHELTERS] if rain else []
        self._far = sides[-1] if sides else 0
        self._maps = Maps(len(sides), max(sides, default=1))
        self._parallel = parallel
        self._beside = Maps(len(parallel), _NEARER if len(parallel) else 1)
        self.forget()

    def forget(self) -> None:
        """The map of the world has to be drawn anew."""
        self._middle: np.ndarray | None = None

    def draw(
        self,
        render: Callable[..., np.ndarray],
        pos: np.ndarray,
        axes: np.ndarray,
        distance: np.ndarray,
    ) -> tuple[Maps, Maps]:
        """Maps of the sun or rain, and of the directional lamps, one of each.

        Args:
            render: See draw().
            pos, axes: (3,) of the camera, (3, 3) its axes as columns, world.
            distance: (h, w) of what it sees [m].
        """
        if self._towards is None and not len(self._parallel):
            return self._maps, self._beside
        seen = distance[::8, ::8]
        seen = seen[np.isfinite(seen)]
        reach = 0.5 * float(np.quantile(seen, 0.75)) if len(seen) else _NEAR_REACH
        reach = min(max(reach, _NEAR_REACH), 0.4 * _FAR_REACH)
        near = pos + 0.9 * reach * axes[:, 0], 1.3 * reach
        for k, towards in enumerate(self._parallel):
            self._beside.put(k, _drawn(render, *near, towards, _NEARER, _NEARER))
        if self._towards is not None:
            last = len(self._maps.depth) - 1
            if last:
                self._maps.put(0, _drawn(render, *near, self._towards, _NEARER, _NEARER))
            middle = steady(pos, _FAR_REACH, axes_of(self._towards), _STEADY)[0]
            if self._middle is None or not np.array_equal(self._middle, middle):
                self._middle = middle
                self._maps.put(
                    last, _drawn(render, pos, _FAR_REACH, self._towards, self._far, _STEADY)
                )
        return self._maps, self._beside


def _drawn(
    render: Callable[..., np.ndarray],
    middle: np.ndarray,
    reach: float,
    towards: np.ndarray,
    side: int,
    steps: int,
) -> ShadowMap:
    frame = axes_of(towards)
    middle, reach = steady(middle, reach, frame, steps)
    return draw(render, middle, reach, frame, side)


@njit
def lit(
    depth: np.ndarray,
    places: np.ndarray,
    x: float,
    y: float,
    z: float,
    nx: float,
    ny: float,
    nz: float,
) -> float:
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
