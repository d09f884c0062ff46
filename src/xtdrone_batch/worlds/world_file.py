"""World files: YAML that says what stands in each environment of a batch.

    bounds: [[-15, -15, 0], [15, 15, 8]]     # lowest and highest corner [m]
    spawn: {pos: [0, 0], radius: 2}          # kept free of what is scattered [m]
    course: {start: [2, 0, 1.5], step: 5, turn: 0.5, climb: 0.5}   # a path that winds at random
    objects:
      - asset: cylinder                      # or box, sphere, gate, room, or a file
        count: [40, 80]
        size: [[0.1, 3], [0.3, 8]]           # radius and length, from and to [m]
        stand: true                          # on the ground
        semantic: tree

A pair [from, to] is drawn anew for each instance; a single value is that value.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from xtdrone_core import files, resources
from xtdrone_core.errors import shown, unknown_name
from xtdrone_dynamics.quaternion import rotate_array

from ..errors import BatchError
from ..scenes import CYLINDER, MESH, PLANE, SPHERE, TriangleMesh
from .assets import PART, Asset, load_asset

MAX_OBJECTS = 100_000  # most objects of one environment
_FAR = 1e5  # [m], [m/s]
_CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
_KEYS = ("bounds", "spawn", "course", "ground", "objects")
_GROUND = {"colour": (0.36, 0.40, 0.31), "size": 2000.0}

POOL = np.dtype(
    [
        ("first", "i8"),
        ("parts", "i8"),  # first and number of its rows in the table of parts
        ("slot", "i8"),  # its first object
        ("count", "i8", (2,)),  # how many instances, from and to
        ("low", "f8", (19,)),
        ("high", "f8", (19,)),  # what is drawn: see DRAWN
        ("lift", "f8", (3,)),
        ("clearance", "f8"),  # to other instances, and to where vehicles start [m]; < 0: overlap
        ("course", "?"),
        ("moving", "?"),
        ("stand", "?"),
        ("semantic", "i8"),
    ],
    align=True,
)
# What is drawn for an instance, and where in POOL's ranges: shape of the key, default.
DRAWN: dict[str, tuple[int, int, Any]] = {
    "pos": (0, 3, None),  # [m]; of a course: from its place there, along, to the left, up
    "yaw": (3, 1, (-math.pi, math.pi)),  # [rad]; of a course: from its direction
    "tilt": (4, 1, (0.0, 0.0)),  # from upright, to any side [rad]
    "size": (5, 3, None),  # as the asset's [m]
    "colour": (8, 3, None),  # RGB, 0..1
    "velocity": (11, 3, (0.0, 0.0)),  # world [m/s]; turns back at the bounds
    "spin": (14, 1, (0.0, 0.0)),  # about z [rad/s]
}
_WIDE = ("velocity", "spin")
_POOL_KEYS = ("asset", "count", "place", "clearance", "stand", "semantic", *DRAWN)


@dataclass(frozen=True, eq=False)
class WorldFile:
    """A world file as tables for the generator."""

    bounds: np.ndarray  # (2, 3) [m]
    spawn: np.ndarray  # (3,) x, y, radius [m]
    course: np.ndarray  # (7,) start, step [m], most turn [rad] and climb [m] of a step, heading
    ground: np.ndarray  # (4,) side [m], 0 = none; colour
    pools: np.ndarray  # (K,) POOL
    parts: np.ndarray  # PART of all assets
    meshes: tuple[TriangleMesh, ...]
    semantics: tuple[str, ...]
    objects: int  # most objects of one environment


def read_world(name: Path | str) -> WorldFile:
    """Reads a world file, or any SDF world as one that is the same everywhere.

    Args:
        name: Of worlds/batch or worlds, or a path.

    Raises:
        XtdroneError: It cannot be read; the message names file and key.
    """
    path = resources.batch_world(name)
    if path.suffix == ".world":
        world = parse_world(
            {
                "ground": False,
                "objects": [{"asset": path.name, "clearance": -1, "pos": [0, 0, 0], "yaw": 0}],
            },
            path,
        )
        return replace(world, bounds=_extent(world))
    return parse_world(files.read_yaml(path, "world file", error=BatchError), path)


def _extent(world: WorldFile) -> np.ndarray:
    """(2, 3) corners around all parts of an SDF world but its planes, and around its origin."""
    corners = [np.array([-10.0, -10.0, 0.0]), np.array([10.0, 10.0, 5.0])]
    for part in world.parts:
        a, b, c = part["size"]
        if part["kind"] == PLANE:
            continue
        points = (
            world.meshes[part["mesh"]].points * part["size"]
            if part["kind"] == MESH
            else 0.5
            * _CUBE
            * {SPHERE: (2 * a, 2 * a, 2 * a), CYLINDER: (2 * a, 2 * a, b)}.get(
                int(part["kind"]), (a, b, c)
            )
        )
        placed = rotate_array(np.tile(part["quat"], (len(points), 1)), points) + part["pos"]
        corners += [placed.min(axis=0), placed.max(axis=0)]
    return np.array([np.min(corners, axis=0), np.max(corners, axis=0)])


def parse_world(given: object, path: Path) -> WorldFile:
    """The tables of a world file's contents; `path` is named in messages and gives its folder."""
    reader = _Reader(path)
    top = reader.mapping("", given, _KEYS)
    bounds = reader.numbers("bounds", top.get("bounds", [[-15, -15, 0], [15, 15, 8]]), (2, 3))
    if not (bounds[0] < bounds[1]).all():
        reader.fail("bounds", shown(top["bounds"]), "give the lowest corner, then the highest")
    spawn = reader.mapping("spawn", top.get("spawn", {}), ("pos", "radius"))
    place = reader.numbers("spawn.pos", spawn.get("pos", [0, 0]), (2,))
    radius = reader.number("spawn.radius", spawn.get("radius", 2.0), 0.0)
    rows = top.get("objects", [])
    if not isinstance(rows, list):
        reader.fail("objects", shown(rows), "give a list")
    ground = top.get("ground", True)
    floor = [0.0, 0.0, 0.0, 0.0]
    if ground is not False:
        keys = {
            **_GROUND,
            **(reader.mapping("ground", ground, tuple(_GROUND)) if ground is not True else {}),
        }
        floor = [
            reader.number("ground.size", keys["size"], 0.0),
            *reader.numbers("ground.colour", keys["colour"], (3,)),
        ]
    meshes: list[TriangleMesh] = []
    semantics = ["ground"] if floor[0] else []
    pools, parts = np.zeros(len(rows), dtype=POOL), [np.zeros(0, dtype=PART)]
    slot = 1
    for k, row in enumerate(rows):
        parts.append(_fill(reader, f"objects[{k}]", row, pools[k], bounds, meshes, semantics))
        pools[k]["first"], pools[k]["parts"] = sum(map(len, parts[:-1])), len(parts[-1])
        pools[k]["slot"] = slot
        slot += int(pools[k]["count"][1]) * len(parts[-1])
    if slot > MAX_OBJECTS:
        reader.fail("objects", f"{slot} objects", f"give at most {MAX_OBJECTS} in one environment")
    course = _course(reader, top.get("course", {}))
    return WorldFile(
        bounds,
        np.append(place, radius),
        course,
        np.array(floor),
        pools,
        np.concatenate(parts),
        tuple(meshes),
        tuple(semantics),
        slot,
    )


def _course(reader: "_Reader", given: object) -> np.ndarray:
    keys = reader.mapping("course", given, ("start", "step", "turn", "climb", "heading"))
    return np.array(
        [
            *reader.numbers("course.start", keys.get("start", [3, 0, 1.5]), (3,)),
            reader.number("course.step", keys.get("step", 4.0), 0.01),
            reader.number("course.turn", keys.get("turn", 0.5), 0.0),
            reader.number("course.climb", keys.get("climb", 0.0), 0.0),
            reader.number("course.heading", keys.get("heading", 0.0), -_FAR),
        ]
    )


def _fill(
    reader: "_Reader",
    where: str,
    row: Any,  # checked here, and a mapping from then on
    pool: np.ndarray,
    bounds: np.ndarray,
    meshes: list,
    semantics: list,
) -> np.ndarray:
    """Fills a pool from one entry of `objects`; returns its parts."""
    row = reader.mapping(where, row, _POOL_KEYS)
    if "asset" not in row:
        reader.fail(f"{where}.asset", "nothing", "name an asset")
    asset = load_asset(str(row["asset"]), reader.path.parent, meshes, semantics)
    low, high = pool["low"], pool["high"]
    on_course = row.get("place", "scatter")
    if on_course not in ("scatter", "course"):
        reader.fail(f"{where}.place", shown(on_course), "give scatter or course")
    pool["course"] = on_course == "course"
    defaults = {
        "pos": (np.zeros((2, 3)) if pool["course"] else bounds),
        "size": np.ones((2, asset.sizes)),
        "colour": np.array([[0.3] * 3, [0.8] * 3]),
    }
    if pool["course"]:
        defaults["yaw"] = np.zeros(2)
    for key, (at, width, fallback) in DRAWN.items():
        default = defaults.get(key, fallback)
        used = asset.sizes if key == "size" else width
        pair = (
            reader.range(f"{where}.{key}", row[key], used)
            if key in row
            else np.broadcast_to(np.reshape(default, (2, -1)), (2, used))
        )
        minimum = 1e-6 if key == "size" else 0.0 if key in ("colour", "tilt") else -_FAR
        if pair.min() < minimum or pair.max() > (1.0 if key == "colour" else _FAR):
            reader.fail(
                f"{where}.{key}",
                shown(row[key]),
                f"give numbers from {minimum:g}" + (" to 1" if key == "colour" else ""),
            )
        if used == 1 and key == "size" and len(asset.parts) and asset.lift == (0.0, 0.0, 0.0):
            pair = np.repeat(pair, 3, axis=1)  # a file's model grows as a whole
        low[at : at + pair.shape[1]], high[at : at + pair.shape[1]] = pair
    _align(low, high, asset)
    pool["moving"] = any(row.get(key) for key in _WIDE)
    if pool["moving"] and len(asset.parts) > 1:
        reader.fail(f"{where}", f"a moving '{row['asset']}'", "only what has one part moves")
    count = reader.range(f"{where}.count", row.get("count", 1), 1)
    pool["count"] = np.round(count[:, 0])
    if count.min() < 0 or count.max() > MAX_OBJECTS or (pool["count"] != count[:, 0]).any():
        reader.fail(
            f"{where}.count", shown(row["count"]), f"give whole numbers from 0 to {MAX_OBJECTS}"
        )
    pool["clearance"] = reader.number(f"{where}.clearance", row.get("clearance", 0.0), -_FAR)
    pool["stand"], pool["lift"] = row.get("stand", False) is True, asset.lift
    name = str(row.get("semantic", Path(str(row["asset"])).stem))
    if name not in semantics and not asset.parts["semantic"].all():
        semantics.append(name)
    pool["semantic"] = semantics.index(name) + 1 if name in semantics else 0
    return asset.parts


def _align(low: np.ndarray, high: np.ndarray, asset: Asset) -> None:
    """A gate's width and height lie along y and z."""
    if asset.sizes == 2 and len(asset.parts) > 1:
        for side in (low, high):
            side[5:8] = 0.0, side[5], side[6]


class _Reader:
    """Checks what a file gives; what is wrong is one line with its name and the key."""

    def __init__(self, path: Path):
        self.path = path

    def fail(self, key: str, given: str, allowed: str) -> NoReturn:
        raise BatchError(
            f"world file '{shown(self.path)}', {key}: {given} is not allowed: {allowed}"
        )

    def mapping(self, key: str, given: object, known: tuple[str, ...]) -> dict:
        if not isinstance(given, dict):
            self.fail(key or "top", shown(given), f"give keys of {', '.join(known)}")
        for name in given:
            if name not in known:
                raise BatchError(
                    f"world file '{shown(self.path)}', {key or 'top'}: "
                    + unknown_name("key", name, known)
                )
        return given

    def number(self, key: str, given: object, minimum: float) -> float:
        return float(self.numbers(key, given, (), minimum))

    def numbers(self, key: str, given: object, shape: tuple, minimum: float = -_FAR) -> np.ndarray:
        array = self._array(given)
        if (
            array is None
            or array.shape != shape
            or not np.isfinite(array).all()
            or array.min() < minimum
            or array.max() > _FAR
        ):
            what = "a number" if shape == () else " of ".join(map(str, shape)) + " numbers"
            self.fail(key, shown(given), f"give {what} from {minimum:g} to {_FAR:g}")
        return array

    def range(self, key: str, given: object, width: int) -> np.ndarray:
        """(2, width) lowest and highest values."""
        array = self._array(given)
        shapes = ((), (2,)) if width == 1 else ((width,), (2, width))
        if array is None or array.shape not in shapes or not np.isfinite(array).all():
            what = "a number" if width == 1 else f"{width} numbers"
            self.fail(key, shown(given), f"give {what}, or a pair [from, to] of them")
        pair = (
            np.broadcast_to(array, (2, width))
            if array.shape in ((), (width,)) and not (width == 1 and array.shape == (2,))
            else array.reshape(2, width)
        )
        if (pair[0] > pair[1]).any():
            self.fail(key, shown(given), "give the lower value first")
        return pair

    @staticmethod
    def _array(given: Any) -> np.ndarray | None:  # data of YAML
        try:
            array = np.array(given, dtype=float)
        except (TypeError, ValueError):
            return None
        return None if isinstance(given, (bool, str)) else array
