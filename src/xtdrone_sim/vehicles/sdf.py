"""Vehicles and worlds from SDF files, as Gazebo 11 and PX4's sitl_gazebo plugins read them."""

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from xtdrone_core import Rotor, SensorBlock, VehicleModel, resources
from xtdrone_dynamics import rotor
from xtdrone_dynamics.constants import GRAVITY, SEA_LEVEL_DENSITY, TROPOPAUSE
from xtdrone_dynamics.magnetic_field import earth_field
from xtdrone_dynamics.quaternion import to_matrix_array

from ..errors import SdfError
from ..plant.battery import read_battery
from .effects import read_effects
from .pose import Pose
from .sdf_tree import (
    OWN,
    Scope,
    Shape,
    fail,
    name_of,
    number,
    numbers,
    parse,
    pose_of,
    refuse_unknown,
    shapes_of,
    text,
    to_dict,
    vector,
)

_SENSOR_PLUGINS = {  # file name of sitl_gazebo's plugin, without lib and .so, to kind
    "gazebo_imu_plugin": "imu", "gazebo_magnetometer_plugin": "magnetometer",
    "gazebo_barometer_plugin": "barometer", "gazebo_gps_plugin": "gps",
    "gazebo_airspeed_plugin": "airspeed", "gazebo_lidar_plugin": "range",
    "gazebo_sonar_plugin": "range",
}
_SENSOR_TYPES = {  # type of a <sensor> to kind; plugins above win
    "camera": "camera", "wideanglecamera": "camera", "multicamera": "camera", "depth": "depth",
    "ray": "lidar", "gpu_ray": "lidar", "imu": "imu", "magnetometer": "magnetometer",
    "altimeter": "barometer", "gps": "gps", "sonar": "range",
}
_PROPELLER = ("diameter", "blades", "chord", "staticThrust", "staticMoment", "staticDrag",
              "rootPitch", "twist", "liftSlope")  # of <xtdrone:propeller>


@dataclass(frozen=True)
class Light:
    """A lamp of a world."""

    kind: str  # directional, point or spot
    pos: tuple[float, float, float]  # world [m]
    direction: tuple[float, float, float]  # in which it shines, world
    diffuse: tuple[float, float, float]  # RGB, 0..1
    specular: tuple[float, float, float]  # RGB, 0..1
    cast_shadows: bool


@dataclass(frozen=True)
class World:
    """A world as its SDF file describes it. Everything in it stands still."""

    name: str
    sdf: Path
    latitude: float  # of the origin [rad]
    longitude: float  # of the origin [rad]
    altitude: float  # of the origin above mean sea level [m]
    gravity: float  # downwards [m/s^2]
    magnetic_field: tuple[float, float, float]  # world ENU [T]
    wind: dict  # tags of the wind plugin as text, and linear_velocity; empty in still air
    shapes: tuple[Shape, ...]  # world frame
    lights: tuple[Light, ...]
    ambient: tuple[float, float, float]  # RGB, 0..1
    background: tuple[float, float, float]  # RGB, 0..1


def load_vehicle(name_or_path: str) -> VehicleModel:
    """A vehicle from models/ or from an SDF file.

    All links count as one rigid body: PX4's plugins turn the rotors for the
    eye only, and other moving parts, like a gimbal, are held in their place.

    Args:
        name_or_path: A name from models/, or a path to an SDF file.

    Returns:
        The vehicle; rotors sorted by motorNumber.

    Raises:
        ScenarioError: No such vehicle.
        SdfError: The file makes no sense; the message names file and line.
    """
    path = resources.vehicle_sdf(name_or_path)
    return _load(path, path.stat().st_mtime_ns)[0]


def vehicle_shapes(model: VehicleModel) -> tuple[Shape, ...]:
    """The collisions and visuals of a vehicle, relative to its centre of gravity."""
    return _load(model.sdf, model.sdf.stat().st_mtime_ns)[1]


@lru_cache(maxsize=64)
def _load(path, _mtime) -> tuple:
    element = parse(path, "model")
    scope = Scope(element, Pose())
    mass, cog, inertia = _merge(scope)
    to_cog = Pose(tuple(-c for c in cog))
    rotors = _rotors(scope, to_cog)
    kind = path.parent.name if path.name == "model.sdf" else path.stem
    model = VehicleModel(kind, path, mass, inertia, cog, rotors, _sensors(scope, to_cog),
                         read_effects(scope.own("effects")), read_battery(scope.own("battery")))
    shapes = tuple(_moved(shape, to_cog) for shape in shapes_of(scope))
    return model, shapes


def _moved(shape, to_cog):
    values = {**shape.__dict__, "pose": to_cog.to(shape.pose)}
    return Shape(**values)


def _merge(scope) -> tuple:
    """Mass, centre of gravity and inertia about it, of all links together."""
    bodies = []
    for name, link, pose in scope.links():
        inertial = link.find("inertial")
        if inertial is None:
            fail(link, f"link '{name}' has no <inertial>: give its mass and inertia")
        mass = number(inertial, "mass")
        if mass <= 0.0:
            fail(inertial, f"mass of link '{name}' is {mass:g} kg: give a mass above 0")
        pose = pose.to(pose_of(inertial))
        rotation = to_matrix_array([pose.quat])[0]
        bodies.append((mass, np.array(pose.pos),
                       rotation @ _inertia(inertial, name) @ rotation.T))
    if not bodies:
        fail(scope.element, "the model has no link")
    total = sum(mass for mass, _, _ in bodies)
    cog = sum(mass * pos for mass, pos, _ in bodies) / total
    inertia = np.zeros((3, 3))
    for mass, pos, own in bodies:
        arm = pos - cog
        inertia += own + mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    moments = np.linalg.eigvalsh(inertia)
    if moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-9):
        fail(scope.element, f"no body has principal moments of inertia {np.array2string(moments)}: "
                            "the largest must not exceed the sum of the others")
    return total, tuple(map(float, cog)), tuple(map(tuple, inertia.tolist()))


def _inertia(inertial, name) -> np.ndarray:
    element = inertial.find("inertia")
    if element is None:
        fail(inertial, f"link '{name}' has no <inertia>")
    xx, yy, zz = (number(element, tag) for tag in ("ixx", "iyy", "izz"))
    xy, xz, yz = (number(element, tag, 0.0) for tag in ("ixy", "ixz", "iyz"))
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.linalg.eigvalsh(matrix)[0] <= 0.0:
        fail(element, f"inertia of link '{name}' is not positive: every principal moment must be "
                      "above 0")
    return matrix


def _plugin_name(element) -> str:
    return element.get("filename", "").rpartition("/")[2].removeprefix("lib").removesuffix(".so")


def _rotors(scope, to_cog) -> tuple[Rotor, ...]:
    channels = _channels(scope)
    found = {}
    for owner, plugin in scope.elements("plugin"):
        if _plugin_name(plugin) == "gazebo_motor_model":
            index = int(number(plugin, "motorNumber"))
            if index in found:
                fail(plugin, f"two rotors have motorNumber {index}")
            found[index] = _rotor(owner, plugin, channels.get(index), to_cog)
    if not found:
        fail(scope.element, "the vehicle has no rotor: give each one a plugin "
                            "libgazebo_motor_model.so")
    if sorted(found) != list(range(len(found))):
        fail(scope.element, f"motorNumber of the rotors is {sorted(found)}: number them from 0 "
                            "without gaps")
    return tuple(found[i] for i in range(len(found)))


def _rotor(scope, plugin, channel, to_cog) -> Rotor:
    joint = scope.find("joint", text(plugin, "jointName"), plugin)
    frame = to_cog.to(scope.pose(text(plugin, "jointName"), plugin))
    xyz = joint.find("axis/xyz")
    if xyz is None:
        fail(joint, f"joint '{name_of(joint)}' of a rotor has no <axis> with <xyz>")
    axis = np.array(frame.direction(numbers(xyz, 3)))
    if not axis.any():
        fail(xyz, "<xyz> of a rotor's axis is 0 0 0: give a direction")
    turning = text(plugin, "turningDirection")
    if turning not in ("ccw", "cw"):
        fail(plugin, f"turningDirection is '{turning}': give ccw or cw")
    top = number(plugin, "maxRotVelocity")
    scaling, zero = channel or (top, 0.0)
    thrust, moment, drag, rolling = _coefficients(plugin)
    found = Rotor(
        pos=frame.pos, axis=tuple(map(float, axis / np.linalg.norm(axis))),
        direction=1 if turning == "ccw" else -1,
        motor_constant=thrust, moment_constant=moment, rotor_drag_coefficient=drag,
        rolling_moment_coefficient=rolling,
        time_constant_up=number(plugin, "timeConstantUp"),
        time_constant_down=number(plugin, "timeConstantDown"),
        max_rot_velocity=top, input_scaling=scaling, zero_position_armed=zero)
    for tag, value in (("motorConstant", found.motor_constant), ("maxRotVelocity", top),
                       ("input_scaling", scaling)):
        if value <= 0.0:
            fail(plugin, f"<{tag}> of a rotor is {value:g}: give a number above 0")
    for tag, value in (("timeConstantUp", found.time_constant_up),
                       ("timeConstantDown", found.time_constant_down),
                       ("momentConstant", found.moment_constant),
                       ("rotorDragCoefficient", found.rotor_drag_coefficient),
                       ("rollingMomentCoefficient", found.rolling_moment_coefficient)):
        if value < 0.0:
            fail(plugin, f"<{tag}> of a rotor is {value:g}: give a number from 0")
    return found


def _coefficients(plugin) -> tuple:
    """C_T, C_M, C_D and C_R: the tags, or else from <xtdrone:propeller> by XTDrone (7)-(10)."""
    tags = ("motorConstant", "momentConstant", "rotorDragCoefficient", "rollingMomentCoefficient")
    blade = plugin.find(OWN + "propeller")
    if blade is None:
        return tuple(number(plugin, tag) for tag in tags)
    refuse_unknown(blade, _PROPELLER)
    values = {tag: number(blade, tag) for tag in _PROPELLER}
    for tag, value in values.items():
        if value <= 0.0 and tag not in ("rootPitch", "twist"):
            fail(blade, f"<{tag}> of a propeller is {value:g}: give a number above 0")
    diameter, blades, chord, thrust = (values[tag] for tag in _PROPELLER[:4])
    computed = (rotor.thrust_constant(thrust, diameter, SEA_LEVEL_DENSITY),
                rotor.moment_constant(values["staticMoment"], thrust, diameter),
                rotor.drag_coefficient(values["staticDrag"], blades, chord, diameter,
                                       SEA_LEVEL_DENSITY),
                rotor.rolling_coefficient(values["rootPitch"], values["twist"], blades,
                                          values["liftSlope"], chord, diameter,
                                          SEA_LEVEL_DENSITY))
    return tuple(number(plugin, tag, value) for tag, value in zip(tags, computed))


def _channels(scope) -> dict:
    """Speed at full command and at zero command by motor, from the MAVLink plugin."""
    channels = {}
    for _, plugin in scope.elements("plugin"):
        if _plugin_name(plugin) == "gazebo_mavlink_interface":
            for channel in plugin.iterfind("control_channels/channel"):
                scaling = number(channel, "input_scaling")
                # PX4's plugin computes (command + offset) scaling + zero.
                zero = (number(channel, "zero_position_armed", 0.0)
                        + number(channel, "input_offset", 0.0) * scaling)
                channels[int(number(channel, "input_index"))] = scaling, zero
    return channels


def _sensors(scope, to_cog) -> tuple[SensorBlock, ...]:
    blocks = []
    for owner, plugin in scope.elements("plugin"):
        kind = _SENSOR_PLUGINS.get(_plugin_name(plugin))
        if kind:
            link = plugin.findtext("linkName", "").strip()
            pose = owner.pose(_slashed(owner, link), plugin) if link else _base(owner)
            blocks.append(_block(kind, plugin.get("name", kind), to_cog.to(pose), to_dict(plugin)))
    for _name, link, pose in scope.links():
        for sensor in link.iterchildren("sensor"):
            block = _link_sensor(sensor, to_cog.to(pose).to(pose_of(sensor)))
            if block is not None:
                blocks.append(block)
    return tuple(blocks)


def _slashed(scope, link) -> str:
    """A link's name as it is declared: plugins name links with and without a leading slash."""
    names = {name_of(child) for child in scope.element.iterchildren("link")}
    plain = link.removeprefix("/")
    return f"/{plain}" if f"/{plain}" in names else plain


def _link_sensor(sensor, pose) -> SensorBlock | None:
    for plugin in sensor.iterchildren("plugin"):
        kind = _SENSOR_PLUGINS.get(_plugin_name(plugin))
        if kind == "range":
            return _block(kind, name_of(sensor), pose, {**to_dict(sensor), **to_dict(plugin)})
        if kind:
            return _block(kind, name_of(sensor), pose, to_dict(plugin))
    kind = _SENSOR_TYPES.get(sensor.get("type"))
    return None if kind is None else _block(kind, name_of(sensor), pose, to_dict(sensor))


def _block(kind, name, pose, tags) -> SensorBlock:
    return SensorBlock(kind, name, pose.pos, pose.quat, tags)


def _base(scope) -> Pose:
    """PX4's plugins without a link of their own sit at the model's first link."""
    return scope.links()[0][2]


def load_world(name_or_path: str) -> World:
    """A world from worlds/ or from an SDF file.

    Args:
        name_or_path: A name from worlds/, or a path to an SDF file.

    Returns:
        The world. Its magnetic field is the file's <magnetic_field>, or else
        that of the World Magnetic Model at its origin.

    Raises:
        ScenarioError: No such world.
        SdfError: The file makes no sense; the message names file and line.
    """
    path = resources.world_sdf(name_or_path)
    element = parse(path, "world")
    scope = Scope(element, Pose())
    place = element.find("spherical_coordinates")
    lat, lon, alt = _origin(place) if place is not None else (0.0, 0.0, 0.0)
    field = element.find("magnetic_field")
    field = earth_field(lat, lon, alt) if field is None else numbers(field, 3)
    scene = element.find("scene")
    ambient = background = (0.4, 0.4, 0.4)
    if scene is not None:
        ambient, background = _colour(scene, "ambient", ambient), _colour(scene, "background",
                                                                          background)
    return World(name_of(element), path, lat, lon, alt, _gravity(element),
                 tuple(map(float, field)), _wind(scope), tuple(shapes_of(scope)),
                 tuple(_light(*found) for found in scope.lights()), ambient, background)


def _origin(place) -> tuple:
    lat, lon = number(place, "latitude_deg"), number(place, "longitude_deg")
    alt = number(place, "elevation", 0.0)
    if not (-90.0 <= lat <= 90.0 and -180.0 <= lon <= 180.0):
        fail(place, f"latitude {lat:g}, longitude {lon:g} is not on the Earth: give -90 to 90 and "
                    "-180 to 180 degrees")
    if not -500.0 <= alt <= TROPOPAUSE:
        fail(place, f"elevation {alt:g} m is outside the atmosphere's model: give -500 to "
                    f"{TROPOPAUSE:g}")
    if number(place, "heading_deg", 0.0) % 360.0 not in (0.0, 180.0):
        fail(place, "heading_deg must be 0: the world frame is east, north, up")
    return math.radians(lat), math.radians(lon), alt


def _gravity(element) -> float:
    child = element.find("gravity")
    if child is None:
        return GRAVITY
    x, y, z = numbers(child, 3)
    if x or y or z > 0.0:
        fail(child, f"gravity is {x:g} {y:g} {z:g}: it must point down, as in 0 0 {-GRAVITY}")
    return -z


def _wind(scope) -> dict:
    tags = {}
    child = scope.element.find("wind/linear_velocity")
    if child is not None:
        numbers(child, 3)
        tags["linear_velocity"] = child.text.strip()
    for _, plugin in scope.elements("plugin"):
        if _plugin_name(plugin) == "gazebo_wind_plugin":
            tags.update(to_dict(plugin))
    return tags


def _light(element, pose) -> Light:
    kind = element.get("type", "")
    if kind not in ("directional", "point", "spot"):
        fail(element, f"light type is '{kind}': give directional, point or spot")
    direction = pose.direction(vector(element, "direction", (0.0, 0.0, -1.0)))
    return Light(kind, pose.pos, direction, _colour(element, "diffuse", (1.0, 1.0, 1.0)),
                 _colour(element, "specular", (0.1, 0.1, 0.1)),
                 text(element, "cast_shadows", "0") in ("1", "true"))


def _colour(element, tag, default) -> tuple:
    child = element.find(tag)
    if child is None:
        return default
    count = len((child.text or "").split())
    return numbers(child, count if count in (3, 4) else 4)[:3]


__all__ = ["Light", "SdfError", "World", "load_vehicle", "load_world", "vehicle_shapes"]
