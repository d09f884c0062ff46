"""Descriptions of worlds, vehicles and simulations that are sent as JSON to servers and pages."""

import dataclasses
import json
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from xtdrone_core import Vehicle
from xtdrone_core.scenario.vehicles import VehicleSpec
from xtdrone_sim.vehicles.actors import Actor
from xtdrone_sim.vehicles.pose import body_frames
from xtdrone_sim.world import Light, World

from .gltf import scene

_ACTOR_STEP_S, _ACTOR_MAX = 0.25, 2000  # time between samples of a round [s], and their number
_CAMERAS = "camera", "stereo", "depth"

Vector = tuple[float, ...]
Described = TypeVar("Described")


@dataclass(frozen=True)
class LightDescription:
    """A light of a world."""

    kind: str
    pos: Vector  # world [m]
    direction: Vector
    diffuse: Vector  # RGB, 0..1
    range: float  # [m]


@dataclass(frozen=True)
class LimbDescription:
    """A limb of an actor; see xtdrone_sim.vehicles.actors.Limb."""

    pos: Vector
    quat: Vector
    axis: Vector
    turn: float  # [rad/m]
    swing: float  # [rad]
    stride: float  # [rad/m]
    phase: float  # [rad]


@dataclass(frozen=True)
class ActorDescription:
    """The way of an actor over one round, for a page that moves it by the time of the frames."""

    name: str
    glb: str  # path of its glTF file
    start: float  # simulated time at which it starts [s]
    loop: bool
    t: Vector  # (K,) times of the samples [s]
    arc_length: Vector  # (K,) path travelled until then [m]
    pos: tuple[Vector, ...]  # (K, 3) world [m]
    quat: tuple[Vector, ...]  # (K, 4) xyzw
    limbs: tuple[LimbDescription, ...]


@dataclass(frozen=True)
class WorldDescription:
    """A world as it is drawn."""

    name: str
    glb: str  # path of its glTF file
    lights: tuple[LightDescription, ...]
    ambient: Vector  # RGB, 0..1
    background: Vector  # RGB, 0..1
    water: float | None  # height of the water's surface [m]
    actors: tuple[ActorDescription, ...]


@dataclass(frozen=True)
class RotorDescription:
    """A rotor or propeller of a type of vehicle."""

    actuator: int
    pos: Vector  # position of its hub [m]
    axis: Vector
    direction: float
    body: int


@dataclass(frozen=True)
class MountDescription:
    """The mounting of a sensor."""

    name: str
    pos: Vector  # body [m]
    quat: Vector  # xyzw


@dataclass(frozen=True)
class TypeDescription:
    """The parts of a type of vehicle that are drawn beside its file."""

    glb: str  # path of its glTF file
    rotors: tuple[RotorDescription, ...]
    ranges: tuple[MountDescription, ...]  # range finders
    cameras: tuple[MountDescription, ...]
    span: float  # largest distance of a shape's middle or a rotor from the base [m]


@dataclass(frozen=True)
class VehicleDescription:
    """A vehicle of a fleet, or of a recording."""

    name: str
    type: str
    start: Vector  # x, y, z [m] and yaw [rad]
    compared: bool = False  # it is in the second of two recordings
    twin: int | None = None  # index of the same vehicle in the first recording


@dataclass(frozen=True)
class SceneDescription:
    """A world and the vehicles in it."""

    origin: Vector  # latitude, longitude [rad] and altitude [m]
    world: WorldDescription
    types: dict[str, TypeDescription]
    vehicles: tuple[VehicleDescription, ...]


@dataclass(frozen=True)
class CameraDescription:
    """A rendered sensor of a fleet."""

    vehicle: str
    sensor: str
    kind: str


@dataclass(frozen=True)
class StationDescription:
    """A running simulation, as its page's server has to know it."""

    instance: int
    folder: str  # folder of the run; empty without one
    key: str  # file of the MAVLink key; empty without one
    px4: bool  # real PX4 flies
    control: bool  # it has a control socket
    shared_origin: bool  # all vehicles share the world's origin
    scene: SceneDescription
    cameras: tuple[CameraDescription, ...]
    track: str  # name or file of the race track; empty without one
    ghost: str  # run whose ghost flies along
    ring: str  # path of the frame ring
    arrays: tuple[tuple[str, str, tuple[int, ...]], ...]  # name, type and shape of each in the ring
    token: str  # shown by pages that may command
    address: str  # address on which the page is served


def describe(
    world: World, specs: Iterable[VehicleSpec], models: Iterable[Vehicle]
) -> SceneDescription:
    """Describes a world and vehicles; makes their glTF files if they are not there.

    Args:
        world: The world.
        specs: The scenario's vehicles.
        models: The model of each of them.
    """
    specs, models = list(specs), list(models)
    return SceneDescription(
        origin=(world.latitude, world.longitude, world.altitude),
        world=WorldDescription(
            name=world.name,
            glb=str(scene.world_file(world)),
            lights=tuple(_light(light) for light in world.lights),
            ambient=world.ambient,
            background=world.background,
            water=world.water if np.isfinite(world.water) else None,
            actors=tuple(_actor(actor) for actor in world.actors),
        ),
        types={model.type: _type(model) for model in models},
        vehicles=tuple(
            VehicleDescription(spec.name, model.type, (*spec.pos, spec.yaw))
            for spec, model in zip(specs, models, strict=True)
        ),
    )


def to_plain(described: Any) -> Any:  # any description, and what is in it
    """Returns a description as dictionaries and lists, ready for JSON."""
    return dataclasses.asdict(described)


def from_json(kind: type[Described], text: str | bytes) -> Described:
    """Returns the description of a kind that to_plain() gave, from its JSON."""
    described: Described = _restored(kind, json.loads(text))
    return described


def _restored(kind: Any, value: Any) -> Any:  # types of annotations, values of JSON
    """Restores a value of JSON as what an annotation says."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(**{name: _restored(hints[name], each) for name, each in value.items()})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return value
    if origin is dict:
        return {key: _restored(arguments[1], each) for key, each in value.items()}
    if origin is tuple and arguments[-1] is Ellipsis:
        return tuple(_restored(arguments[0], each) for each in value)
    if origin is tuple:
        return tuple(_restored(each, part) for each, part in zip(arguments, value, strict=True))
    return value


def for_page(described: SceneDescription) -> dict[str, Any]:
    """Returns a scene for pages, which ask for the glTF files by their names."""
    plain = to_plain(described)
    world = plain["world"]
    for each in (world, *world["actors"], *plain["types"].values()):
        del each["glb"]
    for vehicle in plain["vehicles"]:
        if not vehicle.pop("compared"):
            del vehicle["twin"]
    return {"world": world, "vehicles": plain["vehicles"], "types": plain["types"]}


def glb_file(described: SceneDescription, kind: str, name: str) -> Path | None:
    """Returns the glTF file of the world, of an actor or of a type of vehicle; None without one."""
    if kind == "world":
        return Path(described.world.glb)
    if kind == "actor":
        paths = {actor.name: actor.glb for actor in described.world.actors}
    else:
        paths = {type_name: each.glb for type_name, each in described.types.items()}
    return Path(paths[name]) if name in paths else None


def _light(light: Light) -> LightDescription:
    return LightDescription(light.kind, light.pos, light.direction, light.diffuse, light.range)


def _actor(actor: Actor) -> ActorDescription:
    last = actor.times[-1]
    step = max(_ACTOR_STEP_S, last / _ACTOR_MAX)
    times = np.append(np.arange(actor.times[0], last, step), last)
    poses = [actor.pose(actor.start + t) for t in times.tolist()]
    return ActorDescription(
        name=actor.name,
        glb=str(scene.actor_file(actor)),
        start=actor.start,
        loop=actor.loop,
        t=_rounded(times),
        arc_length=_rounded([actor.arc_length(actor.start + t) for t in times.tolist()]),
        pos=tuple(_rounded(pose.pos) for pose in poses),
        quat=tuple(_rounded(pose.quat) for pose in poses),
        limbs=tuple(
            LimbDescription(
                limb.pose.pos,
                limb.pose.quat,
                limb.axis,
                limb.turn,
                limb.swing,
                limb.stride,
                limb.phase,
            )
            for limb in actor.limbs
        ),
    )


def _rounded(values: Sequence[float] | np.ndarray) -> Vector:
    """Rounds to a tenth of a millimetre, for a short message."""
    return tuple(np.round(np.array(values), 4).tolist())


def _type(model: Vehicle) -> TypeDescription:
    frames = body_frames(model)
    rotors = tuple(
        RotorDescription(
            k, scene.hub(model, k, frames).pos, actuator.axis, actuator.direction, actuator.body
        )
        for k, actuator in scene.rotors_of(model)
    )
    return TypeDescription(
        glb=str(scene.vehicle_file(model)),
        rotors=rotors,
        ranges=_mounts(model, ("range",)),
        cameras=_mounts(model, _CAMERAS),
        span=_span(model, rotors),
    )


def _mounts(model: Vehicle, kinds: Sequence[str]) -> tuple[MountDescription, ...]:
    return tuple(
        MountDescription(block.name, block.pos, block.quat)
        for block in model.sensors
        if block.kind in kinds
    )


def _span(model: Vehicle, rotors: Sequence[RotorDescription]) -> float:
    points = [shape.pose.pos for shape in model.shapes] + [rotor.pos for rotor in rotors]
    return float(max((np.linalg.norm(point) for point in points), default=0.3))
