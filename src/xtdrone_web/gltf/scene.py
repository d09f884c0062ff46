"""Worlds and vehicles as glTF files, kept from one run to the next.

A vehicle's file has a node `body_K` for each of its bodies and a node `rotor_K` for each rotor
whose blades are a link of their own, with the hub as its origin; `far` is all of it in few
triangles. A world's file has one node with a primitive for each material; that of a level ground
without a texture is called `ground`, so that the page can give it one.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from xtdrone_core import Vehicle
from xtdrone_core.vehicle import Propeller, Rotor
from xtdrone_sim.scene import materials
from xtdrone_sim.vehicles.actors import Actor
from xtdrone_sim.vehicles.mesh import MeshFile
from xtdrone_sim.vehicles.pose import Pose, body_frames
from xtdrone_sim.vehicles.shapes import Shape
from xtdrone_sim.world import World

from . import geometry
from .geometry import Triangles
from .writer import Glb, Part

RotorLike = Rotor | Propeller  # what has a hub
_VERSION = 6  # version of the files: a new number makes all of them anew
_NEAR_HUB = 0.05  # a rotor's blades are so near its hub [m]
_VISIBLE_FAR = 0.08  # shapes with no side of this length are left out from afar [m]
_BLADES = ("rotor", "prop", "blade", "motor")
_ROUGH = {"Grass": 1.0, "Bricks": 0.9, "WoodFloor": 0.55, "Road": 0.95}


class MaterialWriter(Protocol):
    """A file that takes the materials of surfaces: a Glb, or a Stage of an export."""

    def material(
        self,
        roughness: float,
        metallic: float,
        image: np.ndarray | None = None,
        alpha: float = 1.0,
        name: str = "",
        colour: np.ndarray | None = None,
    ) -> int:
        """Adds a material; see Glb."""


def cache_folder() -> Path:
    """Returns the folder where the files are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "xtdrone" / "web"


def world_file(world: World) -> Path:
    """Returns the file of a world, made if it is not there."""
    return kept("world", world.shapes, lambda: _world(world))


def vehicle_file(vehicle: Vehicle) -> Path:
    """Returns the file of a vehicle, made if it is not there."""
    return kept("vehicle", vehicle.shapes, lambda: _vehicle(vehicle))


def actor_file(actor: Actor) -> Path:
    """Returns the file of an actor, made if it is not there: a node `limb_K` for each limb."""
    return kept(
        "actor", [shape for limb in actor.limbs for shape in limb.shapes], lambda: _actor(actor)
    )


def kept(
    kind: str, shapes: Sequence[Shape], make: Callable[[], bytes], suffix: str = ".glb"
) -> Path:
    """Returns the file of a kind that is made of these shapes, from the cache or by make()."""
    parts = [repr(shape) for shape in shapes]
    used = {path for shape in shapes for path in _sources(shape)}
    parts += [f"{path} {path.stat().st_mtime_ns}" for path in sorted(used) if path.exists()]
    name = hashlib.sha256(f"{_VERSION} {parts}".encode()).hexdigest()[:24]
    path = cache_folder() / f"{kind}-{name}{suffix}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(f".{os.getpid()}")
        half.write_bytes(make())
        half.replace(path)
    return path


def _sources(shape: Shape) -> list[Path]:
    """Returns the files that a shape's look depends on."""
    paths = [shape.look.texture, shape.heights]
    if isinstance(shape.mesh, MeshFile):
        paths.append(shape.mesh.path)
    return [path for path in paths if path is not None]


def _world(world: World) -> bytes:
    glb = Glb()
    parts = surfaces_of(world.shapes).parts(glb)
    if parts:
        glb.node("world", glb.mesh(parts))
    return glb.encoded()


def _vehicle(vehicle: Vehicle) -> bytes:
    glb, frames = Glb(), body_frames(vehicle)
    nodes = surfaces_of_vehicle(vehicle)
    for (kind, number), made in sorted(nodes.items()):
        pose = hub(vehicle, number, frames) if kind == "rotor" else frames[number]
        glb.node(f"{kind}_{number}", glb.mesh(made.parts(glb)), pose.pos, pose.quat)
    if nodes:
        glb.node("far", glb.mesh(_far(vehicle, frames).parts(glb)))
    return glb.encoded()


def _actor(actor: Actor) -> bytes:
    glb = Glb()
    for k, limb in enumerate(actor.limbs):
        parts = surfaces_of(limb.shapes).parts(glb)
        if parts:
            glb.node(f"limb_{k}", glb.mesh(parts), limb.pose.pos, limb.pose.quat)
    return glb.encoded()


def hub(vehicle: Vehicle, rotor: int, frames: Sequence[Pose]) -> Pose:
    """Returns where an actuator's hub is, given the frames of the bodies."""
    actuator = cast(RotorLike, vehicle.actuators[rotor])
    return frames[actuator.body].to(Pose(tuple(actuator.pos)))


def rotors_of(vehicle: Vehicle) -> list[tuple[int, RotorLike]]:
    """Returns indices and actuators of the rotors and propellers."""
    return [
        (k, cast(RotorLike, actuator))
        for k, actuator in enumerate(vehicle.actuators)
        if actuator.kind in ("rotor", "propeller")
    ]


def surfaces_of(shapes: Iterable[Shape]) -> "Surfaces":
    """Returns all that is seen of shapes: of a World or a limb."""
    made = Surfaces()
    for shape in shapes:
        if not shape.collides:
            made.add(shape, shape.pose)
    return made


def surfaces_of_vehicle(vehicle: Vehicle) -> dict[tuple[str, int], "Surfaces"]:
    """Returns all that is seen of a vehicle.

    Returns:
        By ("body", its index), in its frame, and by ("rotor", index of its actuator): blades, in
        the frame of their body moved to the hub.
    """
    nodes: dict[tuple[str, int], Surfaces] = defaultdict(Surfaces)
    for shape in _seen(vehicle):
        rotor = _rotor_of(vehicle, shape)
        if rotor is None:
            nodes["body", shape.body].add(shape, shape.pose)
        else:
            actuator = cast(RotorLike, vehicle.actuators[rotor])
            offset = tuple(a - b for a, b in zip(shape.pose.pos, actuator.pos))
            nodes["rotor", rotor].add(shape, Pose(offset, shape.pose.quat))
    return nodes


def _seen(vehicle: Vehicle) -> list[Shape]:
    return [shape for shape in vehicle.shapes if not shape.collides]


def _far(vehicle: Vehicle, frames: Sequence[Pose]) -> "Surfaces":
    far = Surfaces()
    for shape in _seen(vehicle):
        if shape.kind == "mesh" or max(shape.size) > _VISIBLE_FAR:
            far.add(_boxed(shape), frames[shape.body].to(shape.pose))
    return far


def _boxed(shape: Shape) -> Shape:
    """Returns a round shape as a box, which has fewer corners and looks the same from afar."""
    if shape.kind == "cylinder":
        width = 2.0 * shape.size[0]
        return replace(shape, kind="box", size=(width, width, shape.size[1]))
    if shape.kind == "sphere":
        return replace(shape, kind="box", size=(2.0 * shape.size[0],) * 3)
    return shape


def _rotor_of(vehicle: Vehicle, shape: Shape) -> int | None:
    """Returns the index of the actuator whose blades a shape is, or None."""
    link = shape.link.rpartition("::")[2].lower()
    if not any(word in link for word in _BLADES):
        return None
    for k, actuator in rotors_of(vehicle):
        if actuator.body == shape.body:
            apart = np.subtract(shape.pose.pos, actuator.pos)
            if np.linalg.norm(apart) < _NEAR_HUB:
                return k
    return None


class Surfaces:
    """Triangles by material: one primitive for each texture, and one for all plain colours."""

    def __init__(self) -> None:
        self._plain: dict[float, list] = defaultdict(list)  # by opacity: triangles, colours
        self._papered: dict[Any, list[Triangles]] = defaultdict(list)
        self._ground: dict[tuple, list[Triangles]] = defaultdict(list)  # by colour

    def add(self, shape: Shape, pose: Pose) -> None:
        """Adds a visual at a pose."""
        look = shape.look
        for triangles, part in geometry.of_shape(shape, look.texture is None):
            placed = triangles.placed(pose)
            texture = look.texture if look.given or part is None else part.texture
            if shape.kind == "plane" and texture is None and not look.script:
                self._ground[look.colour].append(placed)
            elif texture is not None:
                scaled = placed._replace(uv=placed.uv * look.repeats)
                self._papered[texture].append(scaled)
            elif look.script and (part is None or look.given):
                self._papered[look.script].append(placed)
            else:
                colour = look.colour
                if part is not None and part.colour is not None and not look.given:
                    colour = (*part.colour[:3], part.colour[3] * look.colour[3])
                self._plain[round(colour[3], 2)].append((placed, tuple(colour[:3])))

    def parts(self, writer: MaterialWriter, merged: bool = True) -> list[Part]:
        """Returns the parts for mesh() of a writer.

        Args:
            writer: What takes the materials.
            merged: Whether all plain colours are one primitive, instead of one for each.
        """
        parts: list[Part] = []
        for alpha, pieces in self._plain.items():
            if merged:
                colours = np.concatenate(
                    [np.tile(linear(colour), (len(piece.points), 1)) for piece, colour in pieces]
                )
                parts.append(
                    (
                        geometry.joined([piece for piece, _ in pieces]),
                        colours,
                        writer.material(0.5, 0.15, alpha=alpha),
                    )
                )
                continue
            for each in sorted({colour for _, colour in pieces}):
                same = [piece for piece, colour in pieces if colour == each]
                parts.append(
                    (
                        geometry.joined(same),
                        None,
                        writer.material(0.5, 0.15, alpha=alpha, colour=linear(each)),
                    )
                )
        for ground, pieces in self._ground.items():
            parts.append(
                (
                    geometry.joined(pieces),
                    None,
                    writer.material(
                        0.95, 0.0, alpha=ground[3], name="ground", colour=linear(ground[:3])
                    ),
                )
            )
        for key, pieces in self._papered.items():
            script = key if isinstance(key, str) else ""
            image = materials.picture(key) if script else materials.load(key)
            rough = _ROUGH.get(script.rpartition("/")[2], 0.85)
            parts.append((geometry.joined(pieces), None, writer.material(rough, 0.0, image)))
        return parts


def linear(colour: Sequence[float]) -> np.ndarray:
    """Returns the linear light of an sRGB colour."""
    c = np.clip(colour, 0.0, 1.0)
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
