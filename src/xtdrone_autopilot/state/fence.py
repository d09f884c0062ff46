"""Geofences: polygons and circles that a vehicle has to stay inside of, or outside of."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from xtdrone_dynamics.compiled import njit


@njit
def inside_polygon(vertices: np.ndarray, x: float, y: float) -> bool:
    """Returns whether (x, y) lies inside a polygon (K, 2), by counting the edges to its right."""
    inside = False
    last = vertices.shape[0] - 1
    for k in range(vertices.shape[0]):
        x1, y1, x2, y2 = vertices[last, 0], vertices[last, 1], vertices[k, 0], vertices[k, 1]
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            inside = not inside
        last = k
    return inside


class Fence:
    """Polygons and circles of one geofence, in the horizontal plane.

    A position is allowed if it is inside all inclusions and outside all exclusions, as in
    PX4 v1.15.
    """

    def __init__(
        self,
        polygons: Iterable[tuple[bool, npt.ArrayLike]] = (),
        circles: Iterable[tuple[bool, Sequence[float] | np.ndarray, float]] = (),
    ) -> None:
        """A fence.

        Args:
            polygons: Pairs (inclusion, (K, 2) vertices [m]).
            circles: Triples (inclusion, (2,) centre [m], radius [m]).
        """
        self._polygons = [
            (inclusion, np.ascontiguousarray(vertices, dtype=float))
            for inclusion, vertices in polygons
        ]
        self._circles = [
            (inclusion, float(c[0]), float(c[1]), float(radius) ** 2)
            for inclusion, c, radius in circles
        ]

    def outlines(self) -> list[np.ndarray]:
        """Closed outlines (K, 2) of its polygons and circles, to be drawn [m]."""
        turn = np.linspace(0.0, 2.0 * np.pi, 73)
        return [np.vstack([vertices, vertices[:1]]) for _, vertices in self._polygons] + [
            np.stack([x + np.sqrt(r2) * np.cos(turn), y + np.sqrt(r2) * np.sin(turn)], axis=1)
            for _, x, y, r2 in self._circles
        ]

    def contains(self, x: float, y: float) -> bool:
        """Returns whether the position (x, y) [m] is allowed."""
        return all(_allows(polygon, x, y) for polygon in self._polygons) and all(
            _allows_in_circle(circle, x, y) for circle in self._circles
        )

    def discard(self, x: float, y: float) -> int:
        """Takes out the areas that do not allow a position (x, y) [m]; returns how many."""
        before = len(self._polygons) + len(self._circles)
        self._polygons = [polygon for polygon in self._polygons if _allows(polygon, x, y)]
        self._circles = [circle for circle in self._circles if _allows_in_circle(circle, x, y)]
        return before - len(self._polygons) - len(self._circles)


def _allows(polygon: tuple[bool, np.ndarray], x: float, y: float) -> bool:
    inclusion, vertices = polygon
    return bool(inside_polygon(vertices, x, y)) == inclusion


def _allows_in_circle(circle: tuple[bool, float, float, float], x: float, y: float) -> bool:
    inclusion, cx, cy, radius2 = circle
    return ((x - cx) ** 2 + (y - cy) ** 2 <= radius2) == inclusion
