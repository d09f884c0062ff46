"""Worlds and vehicles as glTF files, kept from one run to the next.

A vehicle's file has a node `body_K` for each of its bodies and a node `rotor_K` for each rotor
whose blades are a link of their own, with the hub as its origin; `far` is all of it in few
triangles. A world's file has one node with a primitive for each material; that of a level ground
without a texture is called `ground`, so that the page can give it one.
"""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core import Vehicle
from xtdrone_sim.rendering import materials
from xtdrone_sim.vehicles.mesh import MeshFile
from xtdrone_sim.vehicles.pose import Pose, body_frames

from . import geometry
from .geometry import Triangles
from .writer import Glb

_VERSION = 5  # of the files: a new number makes all of them anew
_NEAR_HUB = 0.05  # a rotor's blades are so near its hub [m]
_VISIBLE_FAR = 0.08  # shapes with no side of this length are left out from afar [m]
_BLADES = ("rotor", "prop", "blade", "motor")
_ROUGH = {"Grass": 1.0, "Bricks": 0.9, "WoodFloor": 0.55, "Road": 0.95}


def cache_folder() -> Path:
    """Where the files are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "xtdrone" / "web"


def world_file(world: Any) -> Path:
    """The file of a World, made if it is not there."""
    return kept("world", world.shapes, lambda: _world(world))


def vehicle_file(vehicle: Vehicle) -> Path:
    """The file of a Vehicle, made if it is not there."""
    return kept("vehicle", vehicle.shapes, lambda: _vehicle(vehicle))


def kept(kind: str, shapes: Sequence[Any], make: Callable[[], bytes],
         suffix: str = ".glb") -> Path:
    """The file of a kind that is made of these shapes, from the cache or by make()."""
    told = [repr(shape) for shape in shapes]
    used = {path for shape in shapes for path in _sources(shape)}
    told += [f"{path} {path.stat().st_mtime_ns}" for path in sorted(used) if path.exists()]
    name = hashlib.sha256(f"{_VERSION} {told}".encode()).hexdigest()[:24]
    path = cache_folder() / f"{kind}-{name}{suffix}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(f".{os.getpid()}")
        half.write_bytes(make())
        half.replace(path)
    return path


def _sources(shape):
    """Files that a shape's look depends on."""
    found = [shape.look.texture, shape.heights]
    if isinstance(shape.mesh, MeshFile):
        found.append(shape.mesh.path)
    return [path for path in found if path is not None]


def _world(world) -> bytes:
    made = _Surfaces()
    for shape in world.shapes:
        if not shape.collides:
            made.add(shape, shape.pose)
    glb = Glb()
    parts = made.parts(glb)
    if parts:
        glb.node("world", parts)
    return glb.encoded()


def _vehicle(vehicle) -> bytes:
    nodes: dict[str, _Surfaces] = defaultdict(_Surfaces)
    frames, far = body_frames(vehicle), _Surfaces()
    for shape in vehicle.shapes:
        if shape.collides:
            continue
        rotor = _rotor_of(vehicle, shape)
        if rotor is None:
            nodes[f"body_{shape.body}"].add(shape, shape.pose)
        else:
            hub = vehicle.actuators[rotor].pos
            offset = tuple(a - b for a, b in zip(shape.pose.pos, hub))
            nodes[f"rotor_{rotor}"].add(shape, Pose(offset, shape.pose.quat))
        if shape.kind == "mesh" or max(shape.size) > _VISIBLE_FAR:
            far.add(_boxed(shape), frames[shape.body].to(shape.pose))
    glb = Glb()
    for name, made in sorted(nodes.items()):
        kind, _, number = name.partition("_")
        pose = (Pose(tuple(vehicle.actuators[int(number)].pos)) if kind == "rotor"
                else frames[int(number)])
        glb.node(name, made.parts(glb), pose.pos, pose.quat)
    if nodes:
        glb.node("far", far.parts(glb))
    return glb.encoded()


def _boxed(shape):
    """A round shape as a box, which has fewer corners and looks the same from afar."""
    if shape.kind == "cylinder":
        width = 2.0 * shape.size[0]
        return replace(shape, kind="box", size=(width, width, shape.size[1]))
    if shape.kind == "sphere":
        return replace(shape, kind="box", size=(2.0 * shape.size[0],) * 3)
    return shape


def _rotor_of(vehicle, shape) -> int | None:
    """Index of the actuator whose blades a shape is, or None."""
    link = shape.link.rpartition("::")[2].lower()
    if not any(word in link for word in _BLADES):
        return None
    for k, actuator in enumerate(vehicle.actuators):
        if actuator.kind in ("rotor", "propeller") and actuator.body == shape.body:
            apart = np.subtract(shape.pose.pos, actuator.pos)
            if np.linalg.norm(apart) < _NEAR_HUB:
                return k
    return None


class _Surfaces:
    """Triangles by material: one primitive for each texture, and one for all plain colours."""

    def __init__(self) -> None:
        self._plain: dict[float, list] = defaultdict(list)  # by opacity: triangles, colours
        self._papered: dict[Any, list[Triangles]] = defaultdict(list)
        self._ground: dict[tuple, list[Triangles]] = defaultdict(list)  # by colour

    def add(self, shape, pose) -> None:
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
                self._plain[round(colour[3], 2)].append((placed, colour[:3]))

    def parts(self, glb: Glb) -> list[tuple[Triangles, np.ndarray | None, int]]:
        """For Glb.node()."""
        found: list[tuple[Triangles, np.ndarray | None, int]] = []
        for alpha, pieces in self._plain.items():
            colours = np.concatenate([np.tile(_linear(colour), (len(piece.points), 1))
                                      for piece, colour in pieces])
            found.append((geometry.joined([piece for piece, _ in pieces]), colours,
                          glb.material(0.5, 0.15, alpha=alpha)))
        for ground, pieces in self._ground.items():
            found.append((geometry.joined(pieces), None, glb.material(
                0.95, 0.0, alpha=ground[3], name="ground", colour=_linear(ground[:3]))))
        for key, pieces in self._papered.items():
            script = key if isinstance(key, str) else ""
            image = materials.picture(key) if script else materials.load(key)
            rough = _ROUGH.get(script.rpartition("/")[2], 0.85)
            found.append((geometry.joined(pieces), None, glb.material(rough, 0.0, image)))
        return found


def _linear(colour: Sequence[float]) -> np.ndarray:
    """Linear light of an sRGB colour."""
    c = np.clip(colour, 0.0, 1.0)
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
