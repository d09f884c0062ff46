"""XTDrone's formations of 6, 9 and 18 vehicles, and generators for other numbers.

All are rows (x, y, z) of the followers relative to the leader, world axes; generated ones have a
distance of 1 between neighbours.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from xtdrone_core.scenario.vehicles import GRID_SPACING

Rows = Sequence[Sequence[float]] | np.ndarray  # (M, 3)


def _columns(rows: int, columns: int) -> Rows:
    """Returns XTDrone's start grid with 3 m spacing, without the leader."""
    return [
        (GRID_SPACING * (i % columns), GRID_SPACING * (i // columns), 0.0)
        for i in range(1, rows * columns)
    ]


_H = math.sqrt(2.0)  # half the diagonal of the sphere's squares; its radius is 2, before scaling

XTDRONE: dict[int, dict[str, Rows]] = {
    6: {
        "origin": _columns(3, 2),
        "T": [(4, 0, 0), (2, 0, 0), (2, 0, -2), (2, 0, -4), (2, 0, -6)],
        "diamond": [(2, 2, -2), (2, -2, -2), (-2, -2, -2), (-2, 2, -2), (0, 0, -4)],
        "triangle": [(-3, 0, -3), (3, 0, -3), (-1.5, 0, -1.5), (1.5, 0, -1.5), (0, 0, -3)],
    },
    9: {
        "origin": _columns(3, 3),
        "cube": [
            (2, 2, 2),
            (-2, 2, 2),
            (-2, -2, 2),
            (2, -2, 2),
            (2, 2, -2),
            (-2, 2, -2),
            (-2, -2, -2),
            (2, -2, -2),
        ],
        "pyramid": [
            (2, 2, -2),
            (-2, 2, -2),
            (-2, -2, -2),
            (2, -2, -2),
            (4, 4, -4),
            (-4, 4, -4),
            (-4, -4, -4),
            (4, -4, -4),
        ],
        "triangle": [
            (0, 4, -4),
            (0, 0, -2),
            (0, 0, -4),
            (0, -2, -2),
            (0, 2, -4),
            (0, 2, -2),
            (0, -4, -4),
            (0, -2, -4),
        ],
    },
    18: {
        "origin": _columns(6, 3),
        "cuboid": [
            (0, 4, 0),
            (4, 0, 0),
            (4, 4, 0),
            (8, 0, 0),
            (8, 4, 0),
            (0, 0, 4),
            (0, 4, 4),
            (4, 0, 4),
            (4, 4, 4),
            (8, 0, 4),
            (8, 4, 4),
            (0, 0, 8),
            (0, 4, 8),
            (4, 0, 8),
            (4, 4, 8),
            (8, 0, 8),
            (8, 4, 8),
        ],
        "sphere": [
            (3 * x, 3 * y, 3 * z)
            for x, y, z in (
                (2 - _H, -_H, 0),
                (2, -2, 0),
                (2 + _H, -_H, 0),
                (4, 0, 0),
                (2 + _H, _H, 0),
                (2, 2, 0),
                (2 - _H, _H, 0),
                (1, -1, -_H),
                (3, -1, -_H),
                (3, 1, -_H),
                (1, 1, -_H),
                (1, -1, _H),
                (3, -1, _H),
                (3, 1, _H),
                (1, 1, _H),
                (2, 0, 2),
                (2, 0, -2),
            )
        ],
        "diamond": [
            (4, 0, 0),
            (8, 0, 0),
            (8, 4, 0),
            (8, 8, 0),
            (4, 8, 0),
            (0, 8, 0),
            (0, 4, 0),
            (2, 2, 2),
            (6, 2, 2),
            (6, 6, 2),
            (2, 6, 2),
            (2, 2, -2),
            (6, 2, -2),
            (6, 6, -2),
            (2, 6, -2),
            (4, 4, 4),
            (4, 4, -4),
        ],
    },
}


def _balanced(points: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, ...]]:
    """Sorts lattice points by descending rank, with opposite points next to each other.

    Args:
        points: Rows (x, y, z, rank).

    Returns:
        The (x, y, z) rows in the order in which followers occupy them.
    """

    def key(p: tuple[int, int, int, int]) -> tuple:
        mirror = max(p[:2], (-p[0], -p[1]))  # the same for a point and the one across the axis
        return (-p[3], -abs(p[2]), mirror, p)

    return [p[:3] for p in sorted(points, key=key)]


def _cube(m: int) -> Rows:
    """Returns a cubic lattice around the leader: corners, then edges, faces and interior."""
    half = 1
    while (2 * half + 1) ** 3 - 1 < m:
        half += 1
    span = range(-half, half + 1)
    return _balanced(
        [
            (x, y, z, sum(abs(c) == half for c in (x, y, z)))
            for x in span
            for y in span
            for z in span
            if (x, y, z) != (0, 0, 0)
        ]
    )[:m]


def _pyramid(m: int) -> Rows:
    """Returns square layers below the leader: corners of all layers, then edges, then inside."""
    depth = 1
    while sum((2 * k + 1) ** 2 for k in range(1, depth + 1)) < m:
        depth += 1
    points: list[tuple[int, int, int, int]] = []
    for k in range(1, depth + 1):
        span = range(-k, k + 1)
        points += [(x, y, -k, (abs(x) == k) + (abs(y) == k)) for x in span for y in span]
    return _balanced(points)[:m]


def _triangle(m: int) -> Rows:
    """Returns an upright triangle below the leader: rows of 3, 5, 7, ..."""
    points: list[tuple[float, float, float]] = []
    row = 1
    while len(points) < m:
        count = min(2 * row + 1, m - len(points))
        points += [(0.0, i - (count - 1) / 2, -row) for i in range(count)]
        row += 1
    return points


def _letter_t(m: int) -> Rows:
    """Returns a bar ahead of the leader, and a stem below the middle of the bar."""
    bar = (m + 1) // 2
    bar -= 1 - bar % 2
    bar = max(bar, 3)
    points = [(x, 0, 0) for x in range(1, bar)]
    return points + [(bar // 2, 0, -z) for z in range(1, m - len(points) + 1)]


def _diamond(m: int) -> Rows:
    """Returns the surface of an octahedron with the leader at its upper tip."""
    size = 1
    while 4 * size * size + 1 < m:
        size += 1
    points: list[tuple[int, int, int]] = []
    for level in range(size - 1, -size, -1):
        r = size - abs(level)
        for x in range(-r, r + 1):
            points += [(x, y, level - size) for y in {r - abs(x), abs(x) - r}]
    points.append((0, 0, -2 * size))
    return [points[i] for i in np.linspace(0, len(points) - 1, m).round().astype(int)]


def _cuboid(m: int) -> Rows:
    """Returns an upright block of three or more layers with the leader at a lower corner."""
    height = max(3, round((m + 1) ** (1 / 3)))
    width = max(2, math.isqrt(math.ceil((m + 1) / height)))
    length = math.ceil((m + 1) / (height * width))
    block = [(x, y, z) for z in range(height) for x in range(length) for y in range(width)]
    return block[1 : m + 1]


def _sphere(m: int) -> Rows:
    """Returns a Fibonacci lattice on a sphere, with the leader at the top."""
    n = m + 1
    k = np.arange(n)
    z = 1 - (2 * k + 1) / n
    angle = k * math.pi * (3 - math.sqrt(5))
    r = np.sqrt(1 - z * z)
    points = np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)
    return points[1:] - points[0]


def _line(m: int) -> Rows:
    """Returns vehicles one behind the other."""
    return [(-k, 0, 0) for k in range(1, m + 1)]


def _v(m: int) -> Rows:
    """Returns two arms behind the leader, filled alternately."""
    return [(-(k // 2 + 1), (k // 2 + 1) * (1 if k % 2 == 0 else -1), 0) for k in range(m)]


def _circle(m: int) -> Rows:
    """Returns a horizontal ring with the leader at its centre."""
    radius = max(1.0, 0.5 / math.sin(math.pi / m)) if m > 1 else 1.0
    angle = 2 * math.pi * np.arange(m) / m
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)


def _grid(m: int) -> Rows:
    """Returns a horizontal square lattice, filled outwards from the leader at its centre."""
    half = 1
    while (2 * half + 1) ** 2 - 1 < m:
        half += 1
    span = range(-half, half + 1)
    points = [(x, y, 0, -max(abs(x), abs(y))) for x in span for y in span if x or y]
    return _balanced(points)[:m]


# Generator, and the minimum number of vehicles at which the shape is recognisable.
GENERATORS: dict[str, tuple[Callable[[int], Rows], int]] = {
    "cube": (_cube, 9),
    "pyramid": (_pyramid, 5),
    "triangle": (_triangle, 3),
    "T": (_letter_t, 5),
    "diamond": (_diamond, 6),
    "cuboid": (_cuboid, 12),
    "sphere": (_sphere, 5),
    "line": (_line, 2),
    "V": (_v, 3),
    "circle": (_circle, 3),
    "grid": (_grid, 2),
}
