"""Formations: slots of the followers as offsets from the leader.

Offsets are in world axes (x east, y north, z up) [m] and do not rotate with the leader. The tables
are XTDrone's formations of 6, 9 and 18 vehicles; for other numbers there are generators of the same
names.
"""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from xtdrone_core import files
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.scenario.options import option
from xtdrone_core.scenario.scenario import FARTHEST, GRID_SPACING, MAX_FLEET, grid as start_grid

from .errors import FormationError

MIN_SLOT_SEPARATION = 1.5  # least distance between two vehicles of a formation [m]
LARGEST = 1e4  # scale, and spacing [m]
MIN_HEIGHT = 1.0  # of slots below the leader, above the ground [m]
_LEVEL = 0.5  # a slot that is less below the leader is level with it [m]
DEFAULT_SPACING = 2.0  # of a generated formation [m], as in XTDrone's formations of nine

_WAITING = ("origin", "waiting")  # XTDrone's names of the start grid


def _columns(rows, columns):
    """XTDrone's start grid with 3 m spacing and a number of columns, without the leader."""
    return [
        (GRID_SPACING * (i % columns), GRID_SPACING * (i // columns), 0.0)
        for i in range(1, rows * columns)
    ]


_H = math.sqrt(2.0)  # half the diagonal of the sphere's squares; its radius is 2, before scaling

XTDRONE = {
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


def _balanced(points):
    """Sorts lattice points by descending rank, with opposite points next to each other.

    Args:
        points: Rows (x, y, z, rank).

    Returns:
        The (x, y, z) rows in the order in which followers occupy them.
    """

    def key(p):
        mirror = max(p[:2], (-p[0], -p[1]))  # the same for a point and the one across the axis
        return (-p[3], -abs(p[2]), mirror, p)

    return [p[:3] for p in sorted(points, key=key)]


def _cube(m):
    """Corners, then edges, faces and interior of a cubic lattice with the leader at its centre."""
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


def _pyramid(m):
    """The leader on top of square layers; corners of all layers first, then edges, then inside."""
    depth = 1
    while sum((2 * k + 1) ** 2 for k in range(1, depth + 1)) < m:
        depth += 1
    points = []
    for k in range(1, depth + 1):
        span = range(-k, k + 1)
        points += [(x, y, -k, (abs(x) == k) + (abs(y) == k)) for x in span for y in span]
    return _balanced(points)[:m]


def _triangle(m):
    """The leader on top of an upright triangle: rows of 3, 5, 7, ... below it."""
    points, row = [], 1
    while len(points) < m:
        count = min(2 * row + 1, m - len(points))
        points += [(0.0, i - (count - 1) / 2, -row) for i in range(count)]
        row += 1
    return points


def _letter_t(m):
    """A bar ahead of the leader, and a stem below the middle of the bar."""
    bar = (m + 1) // 2
    bar -= 1 - bar % 2
    bar = max(bar, 3)
    points = [(x, 0, 0) for x in range(1, bar)]
    return points + [(bar // 2, 0, -z) for z in range(1, m - len(points) + 1)]


def _diamond(m):
    """The surface of an octahedron with the leader at its upper tip."""
    size = 1
    while 4 * size * size + 1 < m:
        size += 1
    points = []
    for level in range(size - 1, -size, -1):
        r = size - abs(level)
        for x in range(-r, r + 1):
            points += [(x, y, level - size) for y in {r - abs(x), abs(x) - r}]
    points.append((0, 0, -2 * size))
    return [points[i] for i in np.linspace(0, len(points) - 1, m).round().astype(int)]


def _cuboid(m):
    """An upright block of three or more layers with the leader at a lower corner."""
    height = max(3, round((m + 1) ** (1 / 3)))
    width = max(2, math.isqrt(math.ceil((m + 1) / height)))
    length = math.ceil((m + 1) / (height * width))
    block = [(x, y, z) for z in range(height) for x in range(length) for y in range(width)]
    return block[1 : m + 1]


def _sphere(m):
    """A Fibonacci lattice on a sphere, with the leader at the top."""
    n = m + 1
    k = np.arange(n)
    z = 1 - (2 * k + 1) / n
    angle = k * math.pi * (3 - math.sqrt(5))
    r = np.sqrt(1 - z * z)
    points = np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)
    return points[1:] - points[0]


def _line(m):
    """One behind the other."""
    return [(-k, 0, 0) for k in range(1, m + 1)]


def _v(m):
    """Two arms behind the leader, filled alternately."""
    return [(-(k // 2 + 1), (k // 2 + 1) * (1 if k % 2 == 0 else -1), 0) for k in range(m)]


def _circle(m):
    """A horizontal ring with the leader at its centre."""
    radius = max(1.0, 0.5 / math.sin(math.pi / m)) if m > 1 else 1.0
    angle = 2 * math.pi * np.arange(m) / m
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)


def _grid(m):
    """A horizontal square lattice, filled outwards from the leader at its centre."""
    half = 1
    while (2 * half + 1) ** 2 - 1 < m:
        half += 1
    span = range(-half, half + 1)
    points = [(x, y, 0, -max(abs(x), abs(y))) for x in span for y in span if x or y]
    return _balanced(points)[:m]


# Generator, and the least number of vehicles at which the shape is recognisable.
_GENERATORS = {
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


def names(n: int | None = None) -> list[str]:
    """Names of the formations, or only of those that n vehicles can fly."""
    fitting = [name for name, (_, least) in _GENERATORS.items() if n is None or n >= least]
    return fitting + list(_WAITING)


def descriptions() -> dict[str, str]:
    """A line on each formation."""
    found = {}
    for name in names():
        least = _GENERATORS[name][1] if name in _GENERATORS else 2
        sizes = [str(size) for size, table in XTDRONE.items() if name in table]
        found[name] = f"{least} vehicles or more" + (
            f"; XTDrone's own for {', '.join(sizes)}" if sizes else ""
        )
    return found


def separation(offsets: npt.ArrayLike) -> float:
    """Least distance between any two vehicles, the leader (at zero) included [m].

    Args:
        offsets: (M, 3) of the followers [m].
    """
    points = np.vstack([np.zeros((1, 3)), offsets])
    if len(points) < 2:
        return math.inf
    return float(cKDTree(points).query(points, k=2)[0][:, 1].min())


def slots(
    name: str,
    n: int,
    scale: float = 1.0,
    rotation: float = 0.0,
    spacing: float | None = None,
    min_separation: float = MIN_SLOT_SEPARATION,
) -> np.ndarray:
    """The followers' offsets from the leader in a formation.

    Args:
        name: One of names(), or the path of a CSV file with a row x, y, z [m]
            for each follower.
        n: Number of vehicles, the leader included.
        scale: Factor on all offsets.
        rotation: About the up axis [rad], or (roll, pitch, yaw) [rad].
        spacing: Least distance between two vehicles [m]; the formation is
            scaled to it. None: XTDrone's size (6, 9, 18 vehicles), the
            file's, or 2 m.
        min_separation: Least distance that is accepted [m].

    Returns:
        (n - 1, 3) offsets, world axes [m].

    Raises:
        FormationError: Unknown formation, a number of vehicles that does not
            fit, slots that coincide or are too close, or an invalid value.
    """
    if not isinstance(n, (int, np.integer)) or not 1 <= n <= MAX_FLEET:
        raise FormationError(
            f"n = {n} is not allowed: a formation has a leader and followers, "
            f"give 2 or more vehicles, up to {MAX_FLEET}"
        )
    for what, value in (("scale", scale), ("spacing", 1.0 if spacing is None else spacing)):
        if not 0 < value <= LARGEST:
            raise FormationError(
                f"{what} {value} is not allowed: give a positive number up to {LARGEST:g}"
            )
    offsets, size = _raw(str(name), int(n))
    if spacing is None:
        spacing = size
    if n > 1:
        _check_distinct(name, offsets)
        if spacing is not None:
            offsets = offsets * (spacing / separation(offsets))
    offsets = _rotation(rotation).apply(offsets * scale) if n > 1 else offsets
    if np.abs(offsets).max(initial=0.0) > FARTHEST:
        raise FormationError(
            f"formation '{shown(name)}' of {n} reaches "
            f"{np.abs(offsets).max():.3g} m, more than {FARTHEST:g} m: give a "
            "smaller scale or spacing"
        )
    if separation(offsets) < min_separation - 1e-9:
        raise FormationError(
            f"formation '{name}' of {n} has vehicles {separation(offsets):.2f} m "
            f"apart, less than {min_separation:g} m: give a larger scale or "
            "spacing"
        )
    return offsets


def require_height(name: str, offsets: npt.ArrayLike, height: float) -> None:
    """Refuses a formation whose lowest slot would be too close to the ground.

    Args:
        name: The formation's name.
        offsets: (M, 3) slots relative to the leader [m].
        height: Of the leader above the ground [m].

    Raises:
        FormationError: The leader is too low.
    """
    lowest = float(np.min(np.asarray(offsets)[:, 2], initial=0.0))
    if lowest < -_LEVEL and height + lowest < MIN_HEIGHT - 0.5 * _LEVEL:
        raise FormationError(
            f"formation '{name}' reaches {-lowest:.1f} m below the leader, who is "
            f"{height:.1f} m above the ground: climb to {MIN_HEIGHT - lowest:.1f} "
            "m or more first"
        )


def lifted(offsets: np.ndarray, height: float) -> np.ndarray:
    """Slots (M, 3), raised together if the lowest would come too close to the ground [m].

    The leader may descend with a formation that fitted where it was commanded.

    Args:
        offsets: Relative to the leader [m].
        height: Of the leader above the ground [m].
    """
    lowest = float(np.min(offsets[:, 2], initial=0.0))
    rise = min(MIN_HEIGHT, height) - (height + lowest)
    return offsets + [0.0, 0.0, rise] if rise > 0.0 else offsets


@dataclass(frozen=True)
class Shape:
    """Size, rotation and height of formations; fields as the arguments of slots()."""

    spacing: float | None = option(
        None,
        "least distance between two vehicles",
        unit="m",
        least=0.0,
        most=LARGEST,
        unset="the formation's; 0 as well",
    )
    scale: float = option(1.0, "factor on all offsets", least=0.0, most=LARGEST)
    rotation: float = option(0.0, "about the up axis", unit="deg", least=-3600.0, most=3600.0)
    rise: float = option(
        0.0,
        "of all slots above the leader, for one on the ground",
        unit="m",
        least=0.0,
        most=LARGEST,
    )

    def slots(self, name: str, n: int) -> np.ndarray:
        """(n - 1, 3) offsets of a formation from the leader, world axes [m].

        Raises:
            FormationError: As slots().
        """
        return slots(name, n, self.scale, math.radians(self.rotation), self.spacing or None) + [
            0.0,
            0.0,
            self.rise,
        ]


def _raw(name, n):
    """(n - 1, 3) offsets and the spacing to scale them to (None: do not scale)."""
    if name.endswith(".csv"):
        return read_csv(name, n), None
    table = XTDRONE.get(n, {})
    if name in _WAITING:
        places = table["origin"] if table else start_grid(n)[1:]
        return np.array(places, dtype=float).reshape(-1, 3), None
    if name in table:
        return np.array(table[name], dtype=float), None
    if name not in _GENERATORS:
        raise FormationError(unknown_name("formation", name, names(n)))
    generate, least = _GENERATORS[name]
    if n < least:
        raise FormationError(
            f"formation '{name}' does not fit {n} vehicles: it needs {least} or "
            f"more; {n} can fly {', '.join(names(n))}"
        )
    return np.array(generate(n - 1), dtype=float).reshape(-1, 3), DEFAULT_SPACING


def read_csv(path: Path | str, n: int) -> np.ndarray:
    """Reads offsets from a CSV file: a row x, y, z [m] per follower, with an optional header.

    Raises:
        FormationError: The file is missing, a row is not three numbers, or there are not n - 1
            rows.
    """
    text = files.read_text(Path(path).expanduser(), "formation file", error=FormationError)
    try:
        rows = [
            row
            for row in csv.reader(text.split("\n"))
            if row and not row[0].lstrip().startswith("#")
        ]
    except csv.Error as error:
        raise FormationError(f"cannot read formation file '{shown(path)}': {error}") from error
    if rows and [cell.strip().lower() for cell in rows[0]] == ["x", "y", "z"]:
        rows = rows[1:]
    offsets = []
    for number, row in enumerate(rows, 1):
        try:
            offset = [float(cell) for cell in row]
        except ValueError:
            offset = []
        if len(offset) != 3 or not all(abs(x) <= FARTHEST for x in offset):
            raise FormationError(
                f"row {number} of '{shown(path)}' is '{shown(','.join(row))}': "
                f"give x,y,z in metres, up to {FARTHEST:g}, for each follower"
            )
        offsets.append(offset)
    if len(offsets) != n - 1:
        raise FormationError(
            f"'{shown(path)}' has {len(offsets)} rows and does not fit {n} "
            f"vehicles: it needs one row for each of the {n - 1} followers"
        )
    return np.array(offsets).reshape(-1, 3)


def _check_distinct(name, offsets):
    points = np.vstack([np.zeros((1, 3)), offsets])
    pairs = cKDTree(points).query_pairs(1e-6, output_type="ndarray")
    if len(pairs):
        i, j = sorted(pairs[np.lexsort(pairs.T[::-1])[0]])
        first = "the leader" if i == 0 else f"slot {i}"
        raise FormationError(
            f"formation '{name}' has {first} and slot {j} at the same position: "
            "give each vehicle a position of its own"
        )


def _rotation(rotation):
    angles = np.atleast_1d(np.asarray(rotation, dtype=float))
    if angles.shape not in ((1,), (3,)) or not np.isfinite(angles).all():
        raise FormationError(
            f"rotation {rotation} is not allowed: give a finite angle about the "
            "up axis, or three for roll, pitch and yaw"
        )
    return Rotation.from_euler("xyz", angles if len(angles) == 3 else [0, 0, angles[0]])
