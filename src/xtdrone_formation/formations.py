"""Formations: slots of the followers as offsets from the leader.

Offsets are in world axes (x east, y north, z up) [m] and do not rotate with the leader.
"""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xtdrone_core import files
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.scenario.vehicles import FARTHEST, MAX_FLEET, grid as start_grid
from xtdrone_core.tables import points_of, read_table

from .declarations import MAX_SCALE, Shape
from .errors import FormationError
from .shapes import GENERATORS, XTDRONE

MIN_SLOT_SEPARATION = 1.5  # minimum distance between two vehicles of a formation [m]
MIN_HEIGHT = 1.0  # height above the ground of slots below the leader [m]
_LEVEL = 0.5  # distance below the leader up to which a slot counts as level with it [m]
DEFAULT_SPACING = 2.0  # spacing of generated formations, as in XTDrone's of nine [m]

_FEW = 150  # vehicles up to which all pairs are compared, before SciPy is imported
_WAITING = ("origin", "waiting")  # XTDrone's names of the start grid


def names(n: int | None = None) -> list[str]:
    """Returns the names of the formations, or only of those that n vehicles can fly."""
    fitting = [name for name, (_, minimum) in GENERATORS.items() if n is None or n >= minimum]
    return fitting + list(_WAITING)


def descriptions() -> dict[str, str]:
    """Returns a line on each formation."""
    lines = {}
    for name in names():
        minimum = GENERATORS[name][1] if name in GENERATORS else 2
        sizes = [str(size) for size, table in XTDRONE.items() if name in table]
        lines[name] = f"{minimum} vehicles or more" + (
            f"; XTDrone's own for {', '.join(sizes)}" if sizes else ""
        )
    return lines


def separation(offsets: npt.ArrayLike) -> float:
    """Returns the smallest distance between any two vehicles, the leader at zero included [m].

    Args:
        offsets: (M, 3) of the followers [m].
    """
    points = np.vstack([np.zeros((1, 3)), offsets])
    if len(points) < 2:
        return math.inf
    if len(points) <= _FEW:
        return float(np.sqrt(_squared_distances(points).min()))
    from scipy.spatial import cKDTree

    return float(cKDTree(points).query(points, k=2)[0][:, 1].min())


def _squared_distances(points: np.ndarray) -> np.ndarray:
    """Returns the squared distances (K,) of all pairs, in the order of np.triu_indices()."""
    one, other = np.triu_indices(len(points), 1)
    x, y, z = (points[one] - points[other]).T
    squared: np.ndarray = x * x + y * y + z * z
    return squared


def slots(
    name: str,
    n: int,
    scale: float = 1.0,
    rotation: float = 0.0,
    spacing: float | None = None,
    min_separation: float = MIN_SLOT_SEPARATION,
) -> np.ndarray:
    """Returns the followers' offsets from the leader in a formation.

    Args:
        name: One of names(), or the path of a CSV file with a row x, y, z [m]
            for each follower.
        n: Number of vehicles, the leader included.
        scale: Factor on all offsets.
        rotation: About the up axis [rad], or (roll, pitch, yaw) [rad].
        spacing: Minimum distance between two vehicles [m]; the formation is
            scaled to it. None: XTDrone's size (6, 9, 18 vehicles), the
            file's, or 2 m.
        min_separation: Minimum distance that is accepted [m].

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
        if not 0 < value <= MAX_SCALE:
            raise FormationError(
                f"{what} {value} is not allowed: give a positive number up to {MAX_SCALE:g}"
            )
    offsets, size = _raw(str(name), int(n))
    if spacing is None:
        spacing = size
    if n > 1:
        _check_distinct(name, offsets)
        if spacing is not None:
            offsets = offsets * (spacing / separation(offsets))
    offsets = _rotated(offsets * scale, rotation) if n > 1 else offsets
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
        height: Height of the leader above the ground [m].

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
    """Raises all slots (M, 3) if the lowest would come too close to the ground [m].

    The leader may descend with a formation that fitted where it was commanded.

    Args:
        offsets: Slots relative to the leader [m].
        height: Height of the leader above the ground [m].
    """
    lowest = float(np.min(offsets[:, 2], initial=0.0))
    rise = min(MIN_HEIGHT, height) - (height + lowest)
    return offsets + [0.0, 0.0, rise] if rise > 0.0 else offsets


def shaped(name: str, n: int, shape: Shape) -> np.ndarray:
    """Returns offsets (n - 1, 3) of a formation of some shape, world axes [m].

    Raises:
        FormationError: As slots().
    """
    rotation, spacing = math.radians(shape.rotation), shape.spacing or None
    return slots(name, n, shape.scale, rotation, spacing) + [0.0, 0.0, shape.rise]


def _raw(name: str, n: int) -> tuple[np.ndarray, float | None]:
    """Returns offsets (n - 1, 3), and the spacing to scale them to; None: do not scale."""
    if is_table(name):
        return read_csv(name, n), None
    if files.is_file(Path(name).expanduser()):
        raise FormationError(
            f"'{shown(name)}' is a file and no formation: a table of slots is a file that ends in "
            ".csv, with x,y,z in metres, separated by commas, in a row for each follower"
        )
    table = XTDRONE.get(n, {})
    if name in _WAITING:
        rows = table["origin"] if table else start_grid(n)[1:]
        return np.array(rows, dtype=float).reshape(-1, 3), None
    if name in table:
        return np.array(table[name], dtype=float), None
    if name not in GENERATORS:
        raise FormationError(unknown_name("formation", name, names(n)))
    generate, minimum = GENERATORS[name]
    if n < minimum:
        raise FormationError(
            f"formation '{name}' does not fit {n} vehicles: it needs {minimum} or "
            f"more; {n} can fly {', '.join(names(n))}"
        )
    return np.array(generate(n - 1), dtype=float).reshape(-1, 3), DEFAULT_SPACING


def is_table(name: str) -> bool:
    """Returns whether the name of a formation is that of a file with its slots."""
    return name.lower().endswith(".csv")


def read_csv(path: Path | str, n: int) -> np.ndarray:
    """Reads offsets from a CSV file: a row x, y, z [m] per follower, with an optional header.

    Raises:
        FormationError: The file is missing, a row is not three numbers, or there are not n - 1
            rows.
    """
    rows = read_table(Path(path).expanduser(), "formation file", FormationError)
    offsets = points_of(rows, f"'{shown(path)}'", FARTHEST, ", for each follower", FormationError)
    if len(offsets) != n - 1:
        raise FormationError(
            f"'{shown(path)}' has {len(offsets)} rows and does not fit {n} "
            f"vehicles: it needs one row for each of the {n - 1} followers"
        )
    return offsets


def _check_distinct(name: str, offsets: np.ndarray) -> None:
    points = np.vstack([np.zeros((1, 3)), offsets])
    if len(points) <= _FEW:
        pairs = np.transpose(np.triu_indices(len(points), 1))[_squared_distances(points) <= 1e-12]
    else:
        from scipy.spatial import cKDTree

        pairs = cKDTree(points).query_pairs(1e-6, output_type="ndarray")
    if len(pairs):
        i, j = sorted(pairs[np.lexsort(pairs.T[::-1])[0]])
        first = "the leader" if i == 0 else f"slot {i}"
        raise FormationError(
            f"formation '{name}' has {first} and slot {j} at the same position: "
            "give each vehicle a position of its own"
        )


def _rotated(offsets: np.ndarray, rotation: npt.ArrayLike) -> np.ndarray:
    angles = np.atleast_1d(np.asarray(rotation, dtype=float))
    if angles.shape not in ((1,), (3,)) or not np.isfinite(angles).all():
        raise FormationError(
            f"rotation {rotation!r} is not allowed: give a finite angle about the "
            "up axis, or three for roll, pitch and yaw"
        )
    if not angles.any():
        return offsets + 0.0
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_euler("xyz", angles if len(angles) == 3 else [0, 0, angles[0]])
    return np.asarray(turn.apply(offsets))
