"""What a world file can place: primitives, gates, rooms, and models from SDF, URDF and meshes.

An asset is a list of parts. Position and size of a part grow linearly with the size that is drawn
for an instance, axis by axis, so that one table of numbers serves them all.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core import extras, files
from xtdrone_core.errors import unknown_name
from xtdrone_dynamics.quaternion import from_matrix
from xtdrone_sim.vehicles.mesh import MESH_SUFFIXES, MeshFile, MeshSource
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.sdf_file import parse
from xtdrone_sim.vehicles.sdf_tree import Scope
from xtdrone_sim.vehicles.shapes import Shape, shapes_of
from xtdrone_sim.vehicles.triangles import Mesh
from xtdrone_sim.world import load_world

from ..errors import BatchError
from ..scenes import BOX, CYLINDER, KINDS, MESH, SPHERE, TriangleMesh

PART = np.dtype(
    [
        ("kind", "i4"),
        ("mesh", "i4"),
        ("semantic", "i8"),  # its class, or 0: the instance's
        ("quat", "f8", (4,)),  # part to asset
        ("pos", "f8", (3,)),
        ("pos_more", "f8", (3,)),  # pos_more + pos * the instance's size
        ("size", "f8", (3,)),
        ("size_more", "f8", (3,)),  # as pos
        ("colour", "f8", (3,)),  # negative: the instance's
    ],
    align=True,
)
_BAR = 0.1  # thickness of a gate's bars and of a room's walls [m]
_OTHER_MESHES = (".ply", ".glb", ".gltf", ".off")


@dataclass(frozen=True, eq=False)
class Asset:
    """Something that can be placed.

    Attributes:
        parts: (P,) PART.
        sizes: How many numbers its size has.
        lift: (3,) factors of the size: how far its origin is above its foot.
    """

    parts: np.ndarray
    sizes: int
    lift: tuple[float, float, float] = (0.0, 0.0, 0.0)


def _parts(*rows: tuple) -> np.ndarray:
    """PARTs of boxes: (pos, pos_more, size, size_more)."""
    parts = np.zeros(len(rows), dtype=PART)
    for part, (pos, pos_more, size, size_more) in zip(parts, rows):
        part["kind"], part["quat"], part["colour"] = BOX, (0, 0, 0, 1), -1.0
        part["pos"], part["pos_more"] = pos, pos_more
        part["size"], part["size_more"] = size, size_more
    return parts


def _primitive(kind: int, sizes: int, lift: tuple) -> Asset:
    part = _parts(((0, 0, 0), (0, 0, 0), (1, 1, 1), (0, 0, 0)))
    part["kind"] = kind
    return Asset(part, sizes, lift)


def _gate() -> Asset:
    """A square frame across the x axis; size: its opening's width and height."""
    b = 0.5 * _BAR
    return Asset(
        _parts(
            ((0, 0.5, 0), (0, b, 0), (0, 0, 1), (_BAR, _BAR, 0)),
            ((0, -0.5, 0), (0, -b, 0), (0, 0, 1), (_BAR, _BAR, 0)),
            ((0, 0, 0.5), (0, 0, b), (0, 1, 0), (_BAR, 2 * _BAR, _BAR)),
            ((0, 0, -0.5), (0, 0, -b), (0, 1, 0), (_BAR, 2 * _BAR, _BAR)),
        ),
        2,
        (0.0, 0.0, 0.5),
    )


def _room() -> Asset:
    """Four walls and a ceiling about the x and y axis; size: inner length, width and height."""
    b = 0.5 * _BAR
    walls = [
        (
            (x / 2, y / 2, 0.5),
            (x * b, y * b, 0),
            (abs(y), abs(x), 1),
            (_BAR + abs(y) * _BAR, _BAR + abs(x) * _BAR, 0),
        )
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    ]
    return Asset(_parts(*walls, ((0, 0, 1), (0, 0, b), (1, 1, 0), (0, 0, _BAR))), 3)


BUILT_IN: dict[str, Callable[[], Asset]] = {
    "box": lambda: _primitive(BOX, 3, (0.0, 0.0, 0.5)),
    "sphere": lambda: _primitive(SPHERE, 1, (1.0, 0.0, 0.0)),
    "cylinder": lambda: _primitive(CYLINDER, 2, (0.0, 0.5, 0.0)),
    "gate": _gate,
    "room": _room,
}


def load_asset(name: str, folder: Path, meshes: list[TriangleMesh], semantics: list[str]) -> Asset:
    """An asset by name, or from a file.

    Args:
        name: Name in BUILT_IN, or a path: an SDF model or world, a URDF, or a mesh.
        folder: Where relative paths begin.
        meshes: Its meshes are appended here.
        semantics: The classes of a world's models are appended here: their names without digits.

    Raises:
        XtdroneError: No such asset, or its file is damaged; the message names it.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]()
    path = folder / name
    suffix = path.suffix.lower()
    if not files.is_file(path):
        raise BatchError(
            unknown_name("asset", name, BUILT_IN, also="a path to an SDF, URDF or mesh file")
        )
    if suffix == ".urdf":
        parts = _of_urdf(path, meshes)
    elif suffix in MESH_SUFFIXES:
        parts = [_mesh_part(_joined(MeshFile(path).parts()), Pose(), (1, 1, 1), meshes)]
    elif suffix in _OTHER_MESHES:
        parts = [_mesh_part(_of_trimesh(path), Pose(), (1, 1, 1), meshes)]
    elif suffix == ".world":
        shapes = load_world(str(path)).shapes
        parts = _of_shapes(shapes, path, meshes)
        for part, shape in zip(parts, (shape for shape in shapes if shape.collides)):
            model = shape.name.partition("::")[0].rstrip("0123456789_ ") or "model"
            if model not in semantics:
                semantics.append(model)
            part["semantic"] = semantics.index(model) + 1
    elif suffix == ".sdf":
        parts = _of_shapes(shapes_of(Scope(parse(path, "model"), Pose())), path, meshes)
    else:
        raise BatchError(
            f"'{name}' is not an asset: give an SDF (.sdf, .world), a URDF (.urdf) or "
            f"a mesh ({', '.join((*MESH_SUFFIXES, *_OTHER_MESHES))})"
        )
    if not parts:
        raise BatchError(f"'{name}' has nothing to collide with")
    return Asset(np.array([part[()] for part in parts], dtype=PART), 1)


def _part(
    kind: int, pose: Pose, size: Sequence[float] | np.ndarray, colour: npt.ArrayLike | None = None
) -> np.ndarray:
    """A part of a model, that grows with it as a whole."""
    part = np.zeros((), dtype=PART)
    part["kind"], part["pos"], part["quat"] = kind, pose.pos, pose.quat
    part["size"][: len(size)] = size
    part["colour"] = -1.0 if colour is None else colour
    return part


def _mesh_part(
    mesh: TriangleMesh, pose: Pose, scale: Sequence[float] | np.ndarray, meshes: list
) -> np.ndarray:
    part = _part(MESH, pose, scale)
    part["mesh"] = len(meshes)
    meshes.append(mesh)
    return part


def _joined(parts: Iterable[Mesh]) -> TriangleMesh:
    first = np.cumsum([0, *(len(part.points) for part in parts)])
    return TriangleMesh(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.faces + k for part, k in zip(parts, first)]),
    )


def _of_shapes(shapes: Iterable[Shape], path: Path, meshes: list) -> list[np.ndarray]:
    """The collisions of an SDF, in the colours of their links' visuals."""
    known: dict[MeshSource, int] = {}
    colours = {
        shape.link: shape.look.colour[:3]
        for shape in shapes
        if not shape.collides and shape.look.given
    }
    parts = []
    for shape in shapes:
        if not shape.collides:
            continue
        if shape.kind not in KINDS:
            raise BatchError(
                f"'{path.name}' has a {shape.kind} ('{shape.name}'): a batch has {', '.join(KINDS)}"
            )
        part = _part(KINDS[shape.kind], shape.pose, shape.size, colours.get(shape.link))
        if shape.mesh is not None:
            if shape.mesh not in known:
                known[shape.mesh] = len(meshes)
                meshes.append(_joined(shape.mesh.parts()))
            part["mesh"] = known[shape.mesh]
        parts.append(part)
    return parts


def _of_trimesh(path: Path) -> TriangleMesh:
    trimesh = extras.require("trimesh", f"the mesh '{path.name}'", "worlds", BatchError)
    try:
        mesh: Any = trimesh.load(path, force="mesh")  # its type depends on the file
        points, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    except Exception as error:  # trimesh has many readers with their own exceptions
        raise BatchError(f"'{path.name}' is not a mesh: {error}") from None
    if not len(faces):
        raise BatchError(f"'{path.name}' has no triangles")
    return TriangleMesh(points, faces)


def _of_urdf(path: Path, meshes: list) -> list[np.ndarray]:
    """The collisions of a URDF with its joints at zero."""
    yourdfpy = extras.require("yourdfpy", f"the URDF '{path.name}'", "worlds", BatchError)
    try:
        robot = yourdfpy.URDF.load(
            str(path),
            build_scene_graph=True,
            load_meshes=False,
            build_collision_scene_graph=False,
            load_collision_meshes=False,
        )
        links = [(link, robot.get_transform(link.name)) for link in robot.robot.links]
    except Exception as error:  # errors of the XML, of the joints
        raise BatchError(f"'{path.name}' is not a URDF: {error}") from None
    parts = []
    for link, transform in links:
        for collision in link.collisions:
            matrix = transform if collision.origin is None else transform @ collision.origin
            pose = Pose(tuple(matrix[:3, 3]), tuple(from_matrix(*matrix[:3, :3].ravel())))
            form = collision.geometry
            if form.box is not None:
                parts.append(_part(BOX, pose, form.box.size))
            elif form.sphere is not None:
                parts.append(_part(SPHERE, pose, (form.sphere.radius,)))
            elif form.cylinder is not None:
                parts.append(_part(CYLINDER, pose, (form.cylinder.radius, form.cylinder.length)))
            elif form.mesh is not None:
                file = path.parent / form.mesh.filename.removeprefix("file://")
                scale = np.broadcast_to(1.0 if form.mesh.scale is None else form.mesh.scale, 3)
                mesh = (
                    _joined(MeshFile(file).parts())
                    if file.suffix.lower() in MESH_SUFFIXES
                    else _of_trimesh(file)
                )
                parts.append(_mesh_part(mesh, pose, scale, meshes))
    return parts
