"""Vehicles from SDF files, as Gazebo 11 and PX4's sitl_gazebo plugins read them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.rates import rounded_rates
from sensor_models.rendered_sensor import RenderedSensor, rendered_sensors
from sensor_models.sensor import Sensor, sensors
from xtdrone_core import FleetModel, SensorBlock, Vehicle, resources
from xtdrone_core.vehicle import Rotor, Tyre
from xtdrone_dynamics.abilities.effectiveness import effectiveness, largest_thrust

from ..errors import SdfError
from .parts.actuators import (
    ACTUATOR_PLUGINS,
    by_joint,
    driven_joints,
    read_actuators,
    read_channels,
)
from .parts.battery import read_battery
from .parts.blades import propellers_of
from .parts.effects import read_effects
from .parts.half_wings import read_half_wings
from .parts.hulls import HULL_PLUGINS, read_hulls
from .parts.links import Links, held_joints, read_links
from .parts.slung import SlungLink, cut_slung
from .parts.tyres import read_tyres
from .parts.wings import WING_PLUGINS, read_wings
from .plugins import plugin_name, unread_plugins
from .pose import Pose
from .sdf_file import OWN, Element, note, noted, parse
from .sdf_tree import Scope, name_of, number, pose_of, to_dict
from .shapes import Shape, shapes_of

_SHEET = 1e-3  # thickness of a plane of a vehicle [m]
_LARGEST = 1e9  # mass, inertia, force and torque [kg, kg m^2, N, N m]


def load_vehicle(name_or_path: str | PathLike[str]) -> Vehicle:
    """A vehicle from models/ or from an SDF file.

    Links that no actuator moves against each other count as one rigid body: PX4's plugins turn
    the rotors for display only, and joints that no channel drives are fixed.

    Args:
        name_or_path: A name from models/, or a path to an SDF file; also as os.PathLike.

    Returns:
        The vehicle.

    Raises:
        ScenarioError: No such vehicle.
        SdfError: The file is invalid; the message names file and line.
    """
    path = resources.vehicle_sdf(name_or_path)
    return _load(path, path.stat().st_mtime_ns)


def scope_of(vehicle: Vehicle) -> Scope:
    """The model that a vehicle was read from, as in its file but for slung loads."""
    return _read(vehicle.sdf, vehicle.sdf.stat().st_mtime_ns)[0]


@lru_cache(maxsize=64)
def _read(path: Path, _mtime: int) -> tuple[Scope, tuple[SlungLink, ...]]:
    """The model of a file without its slung loads, and those."""
    element = parse(path, "model")
    scope = Scope(element, Pose())
    slung = cut_slung(element, scope)
    return (Scope(element, Pose()) if slung else scope), slung


@lru_cache(maxsize=64)
def _load(path: Path, mtime: int) -> Vehicle:
    with noted() as notes:
        scope, slung = _read(path, mtime)
        vehicle = _vehicle(path, scope)
    hung = [
        f"link '{load.name}' hangs on a cable of {load.length:g} m; batches leave it out"
        for load in slung
    ]
    return replace(vehicle, slung=slung, remarks=(*vehicle.remarks, *hung, *notes))


def _vehicle(path: Path, scope: Scope) -> Vehicle:
    remarks = held_joints(scope)
    channels = read_channels(scope, remarks)
    links = read_links(scope, driven_joints(scope, channels), remarks)
    blocks, shapes = _sensors(scope, links, remarks), tuple(_shapes(scope, links, remarks))
    remarks += rounded_rates(blocks)
    actuators = read_actuators(scope, links, channels, shapes)
    controls = by_joint(actuators, channels)
    wings = tuple(read_wings(scope, links, actuators, controls, remarks))
    tyres = tuple(read_tyres(scope, links, actuators, controls, shapes, remarks))
    hulls = tuple(read_hulls(scope, links, remarks))
    if any(isinstance(actuator, Rotor) for actuator in actuators) and not any(
        block.kind == "gps" for block in blocks
    ):
        remarks.append(
            "no GPS: it is armed only with a position from outside, such as pose_source:=truth"
        )
    vehicle = Vehicle(
        type=path.parent.name if path.name == "model.sdf" else path.stem,
        sdf=path,
        mass=links.mass,
        inertia=links.inertia,
        cog=links.cog,
        bodies=links.bodies,
        joints=links.joints,
        actuators=actuators,
        wings=wings,
        half_wings=tuple(read_half_wings(scope, links, actuators, controls)),
        tyres=tyres,
        hulls=hulls,
        sensors=blocks,
        shapes=_rolling(shapes, tyres),
        effects=read_effects(scope.own("effects")),
        battery=read_battery(scope.own("battery")),
        propellers=propellers_of(
            plugin.find(OWN + "propeller") for _, plugin in scope.elements("plugin")
        ),
        remarks=(*remarks, *unread_plugins(scope, _read_plugins(), _sensor_types())),
    )
    _check_magnitudes(vehicle)
    return vehicle


def _read_plugins() -> set[str]:
    """Names of the plugins that say something about a vehicle."""
    of_sensors = {name for sensor in sensors().values() for name in sensor.plugins}
    return {*ACTUATOR_PLUGINS, *WING_PLUGINS, *HULL_PLUGINS, *of_sensors}


def _sensor_types() -> dict[str, str]:
    """Types of SDF's <sensor> that are read, to kinds of sensors."""
    declared: list[RenderedSensor | Sensor] = [*rendered_sensors().values(), *sensors().values()]
    return {name: each.kind for each in declared for name in each.types}


def _check_magnitudes(vehicle: Vehicle) -> None:
    """Refuses coefficients that are numbers and make none: forces would overflow."""
    fleet = FleetModel.of([vehicle])
    with np.errstate(all="ignore"):
        thrust = largest_thrust(fleet)
        whole = np.concatenate(
            [
                effectiveness(fleet, thrust=thrust).ravel(),
                thrust.ravel(),
                np.array(vehicle.inertia).ravel(),
                [vehicle.mass],
            ]
        )
    if not (np.abs(whole) <= _LARGEST).all():
        raise SdfError(
            f"{vehicle.sdf}: mass, inertia or an actuator's full thrust is beyond "
            f"{_LARGEST:g}: give kg, m and s"
        )


def _shapes(scope: Scope, links: Links, remarks: list[str]) -> Iterator[Shape]:
    for shape in shapes_of(scope, remarks):
        body, pose = links.inside(shape.link, shape.pose)
        yield replace(_finite(shape), pose=pose, body=body)


def _finite(shape: Shape) -> Shape:
    """A shape, in place of a plane a sheet: engines have planes for the ground alone."""
    return (
        replace(shape, kind="box", size=(*shape.size, _SHEET)) if shape.kind == "plane" else shape
    )


def _rolling(shapes: Iterable[Shape], tyres: Sequence[Tyre]) -> tuple[Shape, ...]:
    """The shapes, those that tyres touch the ground with marked as such."""
    of_link = {tyre.link: k for k, tyre in enumerate(tyres)}
    return tuple(
        replace(shape, tyre=of_link[shape.link])
        if shape.collides and shape.link in of_link
        else shape
        for shape in shapes
    )


def _sensors(scope: Scope, links: Links, remarks: list[str]) -> tuple[SensorBlock, ...]:
    """All sensors; of the kinds that a vehicle has once, the first: PX4's before the links' own."""
    blocks: list[SensorBlock] = []
    for owner, plugin in scope.elements("plugin"):
        kind = _kind_of_plugin(plugin)
        if kind:
            # PX4's plugins without a link of their own sit at the model's first link.
            link, pose = _named_link(owner, plugin)
            blocks.append(
                _block(kind, plugin.get("name", kind), links, link, pose, to_dict(plugin))
            )
    for name, element, pose in scope.links():
        for sensor in element.iterchildren("sensor"):
            kind, tags = _link_sensor(sensor)
            if kind is not None:
                label = name_of(sensor)
                if label in [block.name for block in blocks]:  # it is in a nested model
                    label = f"{name.rpartition('::')[0].replace('::', '_') or name}_{label}"
                blocks.append(_block(kind, label, links, name, pose.to(pose_of(sensor)), tags))
    kinds = [block.kind for block in blocks]
    extra = [
        block
        for k, block in enumerate(blocks)
        if block.kind in sensors() and block.kind in kinds[:k]
    ]
    if extra:
        named = ", ".join(f"{block.kind} '{block.name}'" for block in extra)
        remarks.append(f"left out, since a vehicle has one of a kind: {named}")
    return tuple(block for block in blocks if not any(block is other for other in extra))


def _named_link(scope: Scope, plugin: Element) -> tuple[str, Pose]:
    """Full name and pose of the link that a sensor's plugin names."""
    link = plugin.findtext("linkName", "").strip()
    if not link:
        name, _, pose = scope.links()[0]
        return name, pose
    link = _slashed(scope, link)
    return scope.prefix + link, scope.pose(link, plugin)


def _slashed(scope: Scope, link: str) -> str:
    """A link's name as it is declared: plugins name links with and without a leading slash."""
    names = {name_of(child) for child in scope.element.iterchildren("link")}
    plain = link.removeprefix("/")
    return f"/{plain}" if f"/{plain}" in names else plain


def _link_sensor(sensor: Element) -> tuple:
    """Kind and tags of a <sensor>; None where it is of no use here."""
    for plugin in sensor.iterchildren("plugin"):
        kind = _kind_of_plugin(plugin)
        if kind == "range":
            return kind, {**to_dict(sensor), **to_dict(plugin)}
        if kind:
            return kind, to_dict(plugin)
    tags = {tag: value for tag, value in to_dict(sensor).items() if value != ""}  # "": a default
    if "lidar" in tags:  # as newer SDF calls it
        tags["ray"] = tags.pop("lidar")
    kind = _sensor_types().get(sensor.get("type"))
    if kind in sensors():
        if number(sensor, "update_rate", 0.0) == 0.0:  # SDF's default: at will
            tags.pop("update_rate", None)
        if next(sensor.iter("noise"), None) is not None:
            note(
                sensor,
                f"<noise> of {kind} '{name_of(sensor)}' is not read: that of its preset is taken, "
                "or of <preset> and the tags of 'xtdrone vehicle presets'",
            )
    return kind, tags


def _kind_of_plugin(plugin: Element) -> str | None:
    """The kind of sensor whose plugin this is."""
    name = plugin_name(plugin)
    return next((sensor.kind for sensor in sensors().values() if name in sensor.plugins), None)


def _block(
    kind: str, name: str, links: Links, link: str, pose: Pose, tags: dict[str, Any]
) -> SensorBlock:
    # A plugin may name a frame, which moves with the base.
    body, placed = (
        links.inside(link, pose)
        if link in links.of_link
        else (0, links.frames[0].inverse().to(pose))
    )
    return SensorBlock(kind, name, placed.pos, placed.quat, tags, body)
