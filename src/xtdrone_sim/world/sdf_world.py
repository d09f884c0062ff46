"""Worlds from SDF files, as Gazebo 11 and PX4's sitl_gazebo plugins read them."""

import copy
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from xtdrone_core import Scenario, ScenarioError, resources
from xtdrone_core.racing.track import read_track
from xtdrone_dynamics.constants import GRAVITY, TROPOPAUSE
from xtdrone_dynamics.earth.magnetic_field import earth_field

from ..vehicles.actors import Actor, read_actor
from ..vehicles.plugins import plugin_name, unread_plugins
from ..vehicles.pose import Pose
from ..vehicles.sdf_file import Element, fail, noted, parse, parse_text
from ..vehicles.sdf_tree import (
    Scope,
    flag,
    name_of,
    number,
    numbers,
    pose_of,
    refuse_unknown,
    to_dict,
    vector,
)
from ..vehicles.shapes import Shape, shapes_of
from .gates import gate_actors, gate_models
from .models import WorldModel, of_world
from .sdf_waves import WAVE_PLUGINS, read_waves
from .sky import Fog, sky_and_fog
from .waves import CALM, Waves

_WIND = "gazebo_wind_plugin"
_SEA = 1025.0  # density of sea water [kg/m^3]
Rgb = tuple[float, float, float]  # 0..1


@dataclass(frozen=True)
class Light:
    """A light of a world."""

    kind: str  # directional, point or spot
    pos: tuple[float, float, float]  # world [m]
    direction: tuple[float, float, float]  # direction of its light, world
    diffuse: tuple[float, float, float]  # RGB, 0..1
    specular: tuple[float, float, float]  # RGB, 0..1
    cast_shadows: bool
    attenuation: tuple[float, float, float] = (1.0, 0.0, 0.0)  # constant, per m, per m^2
    range: float = 10.0  # nothing further away is lit [m]
    cutoff: float = 0.0  # outer angle of a spot [rad]
    falloff: float = 0.0  # exponent of a spot, from the axis outwards


@dataclass(frozen=True)
class World:
    """Description of a world from its SDF file. All its models are static."""

    name: str
    sdf: Path
    latitude: float  # geodetic latitude of the origin [rad]
    longitude: float  # longitude of the origin [rad]
    altitude: float  # height of the origin above mean sea level [m]
    gravity: float  # downwards [m/s^2]
    magnetic_field: tuple[float, float, float]  # world ENU [T]
    wind: dict[str, str]  # tags of the wind plugin as text, and linear_velocity; empty in still air
    shapes: tuple[Shape, ...]  # world frame
    lights: tuple[Light, ...]
    ambient: tuple[float, float, float]  # RGB, 0..1
    background: tuple[float, float, float]  # RGB, 0..1
    models: tuple[WorldModel, ...] = ()  # without their shapes, which are above
    actors: tuple[Actor, ...] = ()  # people that walk, cars that drive
    remarks: tuple[str, ...] = ()  # a line for each thing in the file that is left out
    water: float = -math.inf  # height of the water's surface [m]; -inf without water
    water_density: float = 0.0  # [kg/m^3]
    waves: Waves = CALM  # of the water
    added: tuple[str, ...] = ()  # models that are not in its file, as SDF
    sky_hour: float | None = None  # <scene><sky><time>, hours since midnight
    fog: Fog | None = None  # <scene><fog>


def world_of(scenario: Scenario) -> World:
    """The world of a scenario, with the gates of its track; errors as of load_world()."""
    if not scenario.track:
        return load_world(scenario.world)
    track = read_track(scenario.track)
    world = load_world(scenario.world, gate_models(track))
    return replace(world, actors=(*world.actors, *gate_actors(track)))


def add_models(element: Element, models: Iterable[str]) -> None:
    """Adds models, as SDF, to the <world> of a file.

    Raises:
        ScenarioError: The world has something of that name.
    """
    taken = {child.get("name") for child in element}
    for model in models:
        added = parse_text(model, "track", "model")
        if added.get("name") in taken:
            raise ScenarioError(
                f"world '{name_of(element)}' has something called "
                f"'{added.get('name')}' like a gate: rename it, or leave out the "
                "track"
            )
        element.append(added)


def load_world(name_or_path: str | PathLike[str], added: tuple[str, ...] = ()) -> World:
    """A world from worlds/ or from an SDF file.

    Args:
        name_or_path: A name from worlds/, or a path to an SDF file.
        added: Further models, as SDF.

    Returns:
        The world. Its magnetic field is the file's <magnetic_field>, or else
        that of the World Magnetic Model at its origin.

    Raises:
        ScenarioError: No such world.
        SdfError: The file is invalid; the message names file and line.
    """
    path = resources.world_sdf(name_or_path)
    with noted() as notes:
        world = _read(path, added)
    return replace(world, remarks=(*world.remarks, *notes))


def _read(path: Path, added: tuple[str, ...]) -> World:
    element = copy.deepcopy(parse(path, "world"))
    add_models(element, added)
    scope = Scope(element, Pose(), placed=_state(element))
    remarks: list[str] = []
    coordinates = element.find("spherical_coordinates")
    lat, lon, alt = _origin(coordinates) if coordinates is not None else (0.0, 0.0, 0.0)
    field = element.find("magnetic_field")
    field = earth_field(lat, lon, alt) if field is None else numbers(field, 3)
    scene = element.find("scene")
    ambient = background = (0.4, 0.4, 0.4)
    if scene is not None:
        ambient, background = (
            _colour(scene, "ambient", ambient),
            _colour(scene, "background", background),
        )
    return World(
        name_of(element),
        path,
        lat,
        lon,
        alt,
        _gravity(element),
        (float(field[0]), float(field[1]), float(field[2])),
        _wind(scope),
        tuple(shapes_of(scope, remarks)),
        tuple(_light(*placed) for placed in scope.lights()),
        ambient,
        background,
        of_world(scope),
        tuple(read_actor(actor, remarks) for actor in scope.actors()),
        (*remarks, *unread_plugins(scope, (_WIND, *WAVE_PLUGINS))),
        *_water(scope),
        added,
        *sky_and_fog(scene),
    )


def _state(element: Element) -> dict[str, Pose]:
    """Poses of models and links in a saved world's first <state>, in place of their own <pose>."""
    state = element.find("state")
    return {} if state is None else dict(_saved_poses(state))


def _saved_poses(element: Element, prefix: str = "") -> Iterator[tuple[str, Pose]]:
    """Yields name and pose in the world of the models in a state, and of what is in them."""
    for child in element.iterchildren("model", "link"):
        name = prefix + name_of(child)
        if child.find("pose") is not None:
            yield name, pose_of(child)
        yield from _saved_poses(child, f"{name}::")


def _origin(coordinates: Element) -> tuple[float, float, float]:
    lat, lon = number(coordinates, "latitude_deg"), number(coordinates, "longitude_deg")
    alt = number(coordinates, "elevation", 0.0)
    if not (-90.0 <= lat <= 90.0 and -180.0 <= lon <= 180.0):
        fail(
            coordinates,
            f"latitude {lat:g}, longitude {lon:g} is not on the Earth: give -90 to "
            "90 and -180 to 180 degrees",
        )
    if not -500.0 <= alt <= TROPOPAUSE:
        fail(
            coordinates,
            f"elevation {alt:g} m is outside the atmosphere's model: give -500 to {TROPOPAUSE:g}",
        )
    if number(coordinates, "heading_deg", 0.0) % 360.0 not in (0.0, 180.0):
        fail(coordinates, "heading_deg must be 0: the world frame is east, north, up")
    return math.radians(lat), math.radians(lon), alt


def _gravity(element: Element) -> float:
    child = element.find("gravity")
    if child is None:
        return GRAVITY
    x, y, z = numbers(child, 3)
    if x or y or z > 0.0:
        fail(child, f"gravity is {x:g} {y:g} {z:g}: it must point down, as in 0 0 {-GRAVITY}")
    return -z


def _wind(scope: Scope) -> dict[str, str]:
    tags: dict[str, str] = {}
    child = scope.element.find("wind/linear_velocity")
    if child is not None:
        numbers(child, 3)
        tags["linear_velocity"] = child.text.strip()
    for _, plugin in scope.elements("plugin"):
        if plugin_name(plugin) == _WIND:
            tags.update(to_dict(plugin))
    return tags


def _water(scope: Scope) -> tuple[float, float, Waves]:
    """Height of the surface, density, and waves.

    They are those of <xtdrone:water>, or salt water as high as PX4's model `ocean` or as the model
    that has a plugin of waves.
    """
    block = scope.own("water")
    waves, height = read_waves(scope)
    if block is None:
        seas = [
            nested.pose("", scope.element).pos[2]
            for name, nested in scope.models()
            if name == "ocean"
        ]
        heights = [*seas, *([] if height is None else [height])]
        return (heights[0], _SEA, waves) if heights else (-math.inf, 0.0, CALM)
    refuse_unknown(block, ("level", "density", "waves"))
    level, density = number(block, "level", 0.0), number(block, "density", _SEA)
    if density <= 0.0:
        fail(block, f"<density> of water is {density:g}: give kg/m^3 above 0")
    return level, density, waves


def _light(element: Element, pose: Pose) -> Light:
    kind = element.get("type", "")
    if kind not in ("directional", "point", "spot"):
        fail(element, f"light type is '{kind}': give directional, point or spot")
    direction = pose.direction(vector(element, "direction", (0.0, 0.0, -1.0)))
    light = Light(
        kind,
        pose.pos,
        direction,
        _colour(element, "diffuse", (1.0, 1.0, 1.0)),
        _colour(element, "specular", (0.1, 0.1, 0.1)),
        flag(element, "cast_shadows"),
    )
    fading = element.find("attenuation")
    if fading is not None:
        light = replace(
            light,
            range=number(fading, "range", light.range),
            attenuation=(
                number(fading, "constant", light.attenuation[0]),
                number(fading, "linear", light.attenuation[1]),
                number(fading, "quadratic", light.attenuation[2]),
            ),
        )
    spot = element.find("spot")
    if kind == "spot" and spot is not None:
        light = replace(
            light, cutoff=number(spot, "outer_angle", 0.0), falloff=number(spot, "falloff", 0.0)
        )
    return light


def _colour(element: Element, tag: str, default: Rgb) -> Rgb:
    child = element.find(tag)
    if child is None:
        return default
    count = len((child.text or "").split())
    red, green, blue = numbers(child, count if count in (3, 4) else 4)[:3]
    return red, green, blue
