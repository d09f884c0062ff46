"""Random scenes: people, cars and vehicles at random places, in other looks and light."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from xtdrone_core import Vehicle, VehicleSpec
from xtdrone_sim.vehicles.actors import Actor, Limb, read_actor
from xtdrone_sim.vehicles.look import Look
from xtdrone_sim.vehicles.pose import Pose
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.vehicles.sdf_file import parse_text
from xtdrone_sim.vehicles.shapes import Shape
from xtdrone_sim.world import Light, World, load_world

from .clutter import SCRIPTS, clutter, random_colour
from .options import FIGURES, VEHICLE, Options
from .places import Places

_ACTOR = (
    '<sdf version="1.7"><actor name="{0}">'
    '<xtdrone:figure xmlns:xtdrone="urn:xtdrone">{0}</xtdrone:figure></actor></sdf>'
)
_MOST = {"person": 7, "car": 5, VEHICLE: 3}  # of a class that are added to a scene
_ROOM = {"person": 0.6, "car": 2.6}  # free radius around one [m]
_SPEED = {"person": 1.4, "car": 6.0}  # of those that move [m/s]
_KEPT = 0.7  # chance that an actor of the world stays
_MOVING = 0.6  # chance that one that is added moves
_TALL = (0.88, 1.12)  # sizes of people, of the model's
_AS_IS = 0.3  # chance that a surface looks as in its file
_LATEST_S = 600.0  # simulated time up to which a scene may be seen
_PAINT = "paint"  # begin of the names of visuals in an actor's own colour
_LOOSE = 0.8  # of the colours of an actor, how far they may go from the model's


@dataclass(frozen=True)
class Subject:
    """Something that labels are for."""

    name: str
    kind: str  # its class


@dataclass(frozen=True)
class Setting:
    """A random scene, before it is compiled."""

    world: World
    places: Places
    specs: tuple[VehicleSpec, ...]
    models: tuple[Vehicle, ...]
    vel: np.ndarray  # (N, 3) of the vehicles [m/s]
    start_s: float  # simulated time of the first image
    subjects: tuple[Subject, ...]
    time_of_day: str = ""
    weather: str = ""


@lru_cache(maxsize=4)
def _base(world: str) -> tuple[World, Places]:
    loaded = load_world(world)
    return loaded, Places(loaded)


@lru_cache(maxsize=4)
def _limbs(figure: str) -> tuple[Limb, ...]:
    return read_actor(parse_text(_ACTOR.format(figure), figure, "actor"), []).limbs


def setting(options: Options, rng: np.random.Generator) -> Setting:
    """Draws a scene.

    Args:
        options: What the data set holds.
        rng: The scene's.
    """
    world, places = _base(options.worlds[int(rng.integers(len(options.worlds)))])
    start_s = float(rng.uniform(0.0, _LATEST_S))
    wanted = set(options.classes)
    actors = [actor for actor in world.actors if actor.figure in wanted and rng.random() < _KEPT]
    for figure in FIGURES:
        if figure in wanted:
            actors += _added(figure, places, start_s, rng)
    specs, models, vel = _fleet(options, places, rng)
    if options.randomise:
        actors = [replace(actor, limbs=_dressed(actor, rng)) for actor in actors]
        world = _redecorated(world, rng)
        world = replace(world, shapes=(*world.shapes, *clutter(places, rng)))
    subjects = [Subject(actor.name, actor.figure) for actor in actors]
    subjects += [Subject(spec.name, VEHICLE) for spec in specs]
    return Setting(
        replace(world, actors=tuple(actors)),
        places,
        tuple(specs),
        tuple(models),
        vel,
        start_s,
        tuple(subjects),
        *_conditions(options, rng),
    )


def _conditions(options: Options, rng: np.random.Generator) -> tuple[str, str]:
    if options.rendering == "plain":
        return "", ""
    minutes = int(rng.integers(5 * 60, 21 * 60))
    times = options.times_of_day or (f"{minutes // 60:02}:{minutes % 60:02}",)
    weathers = options.weathers or ("clear", "clear", "fog=300", "rain=5")
    return times[int(rng.integers(len(times)))], weathers[int(rng.integers(len(weathers)))]


def _added(figure: str, places: Places, start_s: float, rng: np.random.Generator) -> list[Actor]:
    """Actors of a figure at random places; some move straight ahead."""
    actors = []
    for k in range(int(rng.integers(1, _MOST[figure] + 1))):
        start = places.ground(rng, _ROOM[figure])
        if start is None:
            continue
        yaw = float(rng.uniform(-math.pi, math.pi))
        turned = Pose(quat=(0.0, 0.0, math.sin(0.5 * yaw), math.cos(0.5 * yaw)))
        here = _at(turned, start)
        still = Actor(
            f"added_{figure}_{k}", _limbs(figure), (0.0,), (here,), ((0.0,) * 3,), False, 0.0,
            ((0.0,), (0.0,)), figure,
        )  # fmt: skip
        way = _straight(start, yaw, figure, places) if rng.random() < _MOVING else None
        actors.append(still if way is None else _walking(still, *way, start_s))
    return actors


def _at(pose: Pose, pos: np.ndarray) -> Pose:
    """Returns the pose at another place."""
    return pose._replace(pos=(float(pos[0]), float(pos[1]), float(pos[2])))


def _straight(
    start: np.ndarray, yaw: float, figure: str, places: Places
) -> tuple[np.ndarray, float] | None:
    """The level way ahead (3,) and its duration [s], as far as it is free; None for none."""
    speed, room = _SPEED[figure], _ROOM[figure]
    ahead, step = np.array([math.cos(yaw), math.sin(yaw)]), 2.0 * room
    reached = 0.0
    while reached < 20.0:
        x, y = start[:2] + (reached + step) * ahead
        if abs(places.height(x, y) - start[2]) > 0.1:
            break
        reached += step
    length = reached - room
    if length < 2.0:
        return None
    return np.array([*(length * ahead), 0.0]), length / speed


def _walking(actor: Actor, way: np.ndarray, seconds: float, start_s: float) -> Actor:
    """The actor on a straight way, which it begins a little before the first image."""
    end = _at(actor.poses[0], np.array(actor.poses[0].pos) + way)
    tangent = tuple(way.tolist())
    return replace(
        actor,
        times=(0.0, seconds),
        poses=(actor.poses[0], end),
        tangents=(tangent, tangent),
        start=start_s - 0.2 * seconds,
        arc_lengths=((0.0, seconds), (0.0, float(np.linalg.norm(way)))),
    )


def _fleet(
    options: Options, places: Places, rng: np.random.Generator
) -> tuple[list[VehicleSpec], list[Vehicle], np.ndarray]:
    specs: list[VehicleSpec] = []
    models: list[Vehicle] = []
    count = int(rng.integers(1, _MOST[VEHICLE] + 1)) if VEHICLE in options.classes else 0
    for k in range(count):
        place = places.ground(rng, 1.0)
        if place is None:
            continue
        name = options.vehicles[int(rng.integers(len(options.vehicles)))]
        height = float(rng.choice([0.4, 1.0]) * rng.uniform(0.0, 14.0))
        pos = (float(place[0]), float(place[1]), float(place[2]) + 0.3 + height)
        models.append(load_vehicle(name))
        specs.append(VehicleSpec(name, f"vehicle_{k}", pos, float(rng.uniform(-3.14, 3.14))))
    vel = rng.normal(0.0, 1.5, (len(specs), 3)) * (1.0, 1.0, 0.2)
    return specs, models, vel


def _mixed(
    colour: Sequence[float], rng: np.random.Generator, loose: float
) -> tuple[float, float, float, float]:
    share = loose * rng.random()
    red, green, blue = (
        (1.0 - share) * old + share * new for old, new in zip(colour[:3], random_colour(rng))
    )
    return red, green, blue, colour[3]


def _dressed(actor: Actor, rng: np.random.Generator) -> tuple[Limb, ...]:
    """Limbs in random colours, which what has one colour keeps in common; people differ in size."""
    colours: dict[object, tuple] = {}
    scale = float(rng.uniform(*_TALL)) if actor.figure == "person" else 1.0

    def dress(shape: Shape) -> Shape:
        old = shape.look.colour
        painted = shape.name.rpartition("::")[2].startswith(_PAINT)
        if old not in colours:
            colours[old] = (*random_colour(rng), old[3]) if painted else _mixed(old, rng, _LOOSE)
        return replace(
            shape,
            look=replace(shape.look, colour=colours[old], given=True),
            size=tuple(scale * side for side in shape.size),
            pose=_scaled(shape.pose, scale),
        )

    return tuple(
        replace(limb, pose=_scaled(limb.pose, scale), shapes=tuple(map(dress, limb.shapes)))
        for limb in actor.limbs
    )


def _scaled(pose: Pose, scale: float) -> Pose:
    return pose._replace(pos=tuple(scale * x for x in pose.pos))


def _redecorated(world: World, rng: np.random.Generator) -> World:
    """The world with other textures and colours of what stands in it, and other light."""
    scripts = [f"Gazebo/{name}" for name in SCRIPTS]
    looks: dict[Look, Look] = {}

    def redecorate(look: Look) -> Look:
        if look not in looks:
            script = look.script
            if script and rng.random() > _AS_IS:
                script = scripts[int(rng.integers(len(scripts)))]
            looks[look] = (
                look
                if rng.random() < _AS_IS or look.texture is not None
                else replace(look, script=script, colour=_mixed(look.colour, rng, 0.7))
            )
        return looks[look]

    shapes = tuple(
        shape if shape.collides else replace(shape, look=redecorate(shape.look))
        for shape in world.shapes
    )
    return replace(
        world,
        shapes=shapes,
        lights=tuple(_relit(light, rng) for light in world.lights),
        ambient=(float(rng.uniform(0.15, 0.6)),) * 3,
        background=_mixed((*world.background, 1.0), rng, 0.8)[:3],
    )


def _relit(light: Light, rng: np.random.Generator) -> Light:
    if light.kind != "directional":
        return light
    azimuth, elevation = rng.uniform(-math.pi, math.pi), rng.uniform(0.25, 1.5)
    level = math.cos(elevation)
    strength = float(rng.uniform(0.3, 1.0))
    warm = float(rng.uniform(0.8, 1.0))
    return replace(
        light,
        direction=(
            float(level * math.cos(azimuth)),
            float(level * math.sin(azimuth)),
            -math.sin(elevation),
        ),
        diffuse=(strength, strength * (0.5 + 0.5 * warm), strength * warm),
    )
