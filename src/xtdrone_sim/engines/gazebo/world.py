"""The SDF for Gazebo 11: the world, the vehicles and the lockstep plugin."""

import copy
import math
from collections.abc import Container, Sequence
from pathlib import Path

from lxml import etree

from sensor_models.lens import pinhole_of
from sensor_models.rendered_sensor import cameras_in, has_cameras
from xtdrone_core import Body, SensorBlock, Vehicle, VehicleSpec
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.constants import GRAVITY

from ...errors import EngineError
from ...vehicles.pose import Pose, body_frames, start_pose
from ...vehicles.sdf import scope_of
from ...vehicles.sdf_file import Element, parse, resolve_uri
from ...vehicles.sdf_tree import pose_of
from ...world.models import WorldModel
from ...world.sdf_world import World, add_models

_VERSION = "1.7"
_DEPTH = 5e-4  # contact penetration of a standing vehicle [m]
_FEET = 4  # contact points that carry a standing vehicle


def world_sdf(
    world: World,
    specs: Sequence[VehicleSpec],
    models: Sequence[Vehicle],
    plugin: Path | str,
    socket: Path | str,
    looks: Path | str,
    step: float,
) -> str:
    """Writes the whole world as SDF text.

    Plugins of the world file are left out: wind and sensors are simulated by this project.

    Args:
        world: The world.
        specs: The VehicleSpecs.
        models: Their Vehicles.
        plugin: Path of the lockstep plugin.
        socket: Path of the Unix socket that the plugin connects to.
        looks: Path of the Unix socket for cameras.
        step: Length of a physics step [s].

    Raises:
        EngineError: A model of the world has the name of a vehicle, or a gate moves.
    """
    element = copy.deepcopy(parse(world.sdf, "world"))
    add_models(element, world.added)
    taken = {child.get("name") for child in element} & {spec.name for spec in specs}
    if taken:
        raise EngineError(
            f"world '{world.name}' has something called '{min(taken)}' like a "
            "vehicle, which Gazebo cannot tell apart: rename one of them"
        )
    moving = {actor.name for actor in world.actors} - {
        actor.get("name") for actor in element.findall("actor")
    }
    if moving:
        raise EngineError(
            f"{min(moving)} of the track moves, which Gazebo's world cannot: give "
            "--engine embedded, or a track whose gates stand"
        )
    for unwanted in element.findall("plugin"):
        element.remove(unwanted)
    physics = element.find("physics")
    if physics is None:
        physics = etree.SubElement(element, "physics", type="ode")
    for tag, value in (
        ("max_step_size", step),
        ("real_time_factor", 0),
        ("real_time_update_rate", 0),
    ):
        _set(physics, tag, value)
    for spec, model in zip(specs, models):
        element.append(_vehicle(spec, model))
    lockstep = etree.SubElement(element, "plugin", name="lockstep", filename=str(plugin))
    etree.SubElement(lockstep, "socket").text = str(socket)
    etree.SubElement(lockstep, "looks").text = str(looks)
    return _document(element)


def model_sdf(model: WorldModel) -> str:
    """Writes the SDF of a model that is inserted into a running world.

    It has one link, whose frame is that of the model's body.
    """
    out = etree.Element("model", name=model.name)
    _set(out, "static", int(model.static))
    _set(out, "pose", _six(model.start))
    body = Body(model.links[0][0], -1, model.mass, model.inertia)
    link = etree.Element("link", name=link_name(0)) if model.static else _link(0, body, Pose())
    inward = Pose(model.cog).inverse()
    for name, source, pose in model.scope().links():
        link.extend(
            _shape(name, child, inward.to(pose), model.mass)
            for child in _shown(model, name, source)
        )
    out.append(link)
    return _document(out)


def link_name(body: int) -> str:
    """Name of a vehicle body's link in Gazebo."""
    return "body" if body == 0 else f"body{body}"


def joint_name(joint: int) -> str:
    """Name of a vehicle's joint in Gazebo."""
    return f"joint{joint}"


def _vehicle(spec: VehicleSpec, vehicle: Vehicle) -> Element:
    """A model with one link per body; the link frame is the body frame."""
    out = etree.Element("model", name=spec.name)
    _set(out, "pose", _six(start_pose(spec, vehicle)))
    if vehicle.joints:  # a new joint target would not wake a sleeping model
        _set(out, "allow_auto_disable", 0)
    frames = body_frames(vehicle)
    links = [
        _link(k, body, frame)
        for k, (body, frame) in enumerate(zip(vehicle.bodies, frames, strict=True))
    ]
    body_of = {name: k for k, body in enumerate(vehicle.bodies) for name in body.links}
    rolling = {shape_name(shape.name) for shape in vehicle.shapes if shape.tyre >= 0}
    for name, source, link_pose in scope_of(vehicle).links():
        body = body_of[name]
        inward = Pose(vehicle.cog).to(frames[body]).inverse()
        links[body].extend(
            _shape(name, child, inward.to(link_pose), vehicle.mass, rolling)
            for child in _shown(vehicle, name, source)
        )
    for block in vehicle.sensors:
        if has_cameras(block):
            links[block.body].append(_camera(block))
    out.extend(links)
    out.extend(_joint(k, vehicle) for k in range(len(vehicle.joints)))
    return out


def _link(k: int, body: Body, frame: Pose) -> Element:
    link = etree.Element("link", name=link_name(k))
    if k > 0:
        _set(link, "pose", _six(frame))
    inertial = etree.SubElement(link, "inertial")
    if any(body.cog):
        _set(inertial, "pose", _six(Pose(body.cog)))
    _set(inertial, "mass", repr(float(body.mass)))
    inertia = etree.SubElement(inertial, "inertia")
    for i, row in enumerate("xyz"):
        for j in range(i, 3):
            _set(inertia, f"i{row}{'xyz'[j]}", repr(float(body.inertia[i][j])))
    return link


def _shown(model: Vehicle | WorldModel, link: str, source: Element) -> list[Element]:
    """A link's collisions and visuals, without those that the model leaves out."""
    there = {shape.name for shape in model.shapes}
    return [
        child
        for child in source.iterchildren("collision", "visual")
        if f"{link}::{child.get('name')}" in there
    ]


def shape_name(name: str) -> str:
    """Name in Gazebo of a collision or visual of a body, "LINK::SHAPE" in the vehicle's file."""
    return name.replace("::", ".")


def _shape(
    link: str, child: Element, link_pose: Pose, mass: float, rolling: Container[str] = ()
) -> Element:
    """A collision or visual of a link, at its pose in the body frame.

    Mass 0 leaves it as it is; those of the names in `rolling` have no friction, which the plant
    computes.
    """
    shape = copy.deepcopy(child)
    shape.set("name", shape_name(f"{link}::{child.get('name')}"))
    for old in shape.findall("pose"):
        shape.remove(old)
    _set(shape, "pose", _six(link_pose.to(pose_of(child))))
    for uri, there in zip(
        shape.iterfind(".//mesh/uri"), child.iterfind(".//mesh/uri"), strict=True
    ):
        uri.text = f"file://{resolve_uri(there, there.text.strip())}"
    if shape.tag == "collision" and mass:
        _soften(shape, mass)
        if shape.get("name") in rolling:
            friction = _child(_child(_child(shape, "surface"), "friction"), "ode")
            _set(friction, "mu", 0.0)
            _set(friction, "mu2", 0.0)
    return shape


def _joint(k: int, vehicle: Vehicle) -> Element:
    """A joint without limits: the plant applies those of its actuator."""
    joint = vehicle.joints[k]
    out = etree.Element(
        "joint", name=joint_name(k), type="prismatic" if joint.prismatic else "revolute"
    )
    _set(out, "pose", _six(Pose(joint.anchor)))
    _set(out, "parent", link_name(vehicle.bodies[joint.body].parent))
    _set(out, "child", link_name(joint.body))
    axis = etree.SubElement(out, "axis")
    _set(axis, "xyz", " ".join(map(repr, map(float, joint.axis))))
    limit = etree.SubElement(axis, "limit")
    _set(limit, "lower", -1e16)
    _set(limit, "upper", 1e16)
    _set(etree.SubElement(axis, "dynamics"), "damping", joint.damping)
    return out


def _camera(block: SensorBlock) -> Element:
    """Gazebo camera sensors for a block: the ideal images that the lens models distort.

    They stay inactive; the plugin triggers each frame. Their update rate only matters to
    subscribers of Gazebo's own topics.
    """
    cameras = cameras_in(block)
    kind = "depth" if block.kind == "depth" else "camera" if len(cameras) == 1 else "multicamera"
    sensor = etree.Element("sensor", name=block.name, type=kind)
    for tag, value in (("always_on", 0), ("update_rate", cameras[0].rate), ("visualize", 0)):
        _set(sensor, tag, value)
    for camera in cameras:
        pinhole = pinhole_of(camera)
        element = etree.SubElement(sensor, "camera", name=camera.name or "image")
        _set(element, "pose", _six(Pose(camera.pos, camera.quat)))
        aside = max(abs(pinhole.left), abs(pinhole.right))
        _set(element, "horizontal_fov", repr(2.0 * math.atan(aside)))
        image = etree.SubElement(element, "image")
        _set(image, "width", pinhole.width)
        _set(image, "height", pinhole.height)
        _set(image, "format", "R8G8B8")
        _set(image, "anti_aliasing", camera.anti_aliasing)
        clip = etree.SubElement(element, "clip")
        _set(clip, "near", camera.near)
        _set(clip, "far", camera.far)
    return sensor


def _soften(collision: Element, mass: float) -> None:
    """Replaces ODE's stiff contact of a collision by springs and dampers.

    With stiff contact a standing vehicle shakes by 5 m/s^2 at every step. No real
    accelerometer shows that, and no estimator would detect the vehicle as standing still.
    """
    surface = _child(collision, "surface")
    for old in surface.findall("contact"):
        surface.remove(old)
    ode = etree.SubElement(etree.SubElement(surface, "contact"), "ode")
    stiffness = mass * GRAVITY / _DEPTH / _FEET
    damping = 2.0 * math.sqrt(stiffness * mass / _FEET)  # critical damping
    for tag, value in (("kp", stiffness), ("kd", damping), ("max_vel", 1.0), ("min_depth", 0.0)):
        _set(ode, tag, value)


def _document(element: Element) -> str:
    root = etree.Element("sdf", version=_VERSION)
    root.append(element)
    etree.strip_elements(root, "{urn:xtdrone}*", with_tail=False)
    etree.cleanup_namespaces(root)
    return etree.tostring(root, encoding="unicode")


def _six(pose: Pose) -> str:
    return " ".join(repr(float(x)) for x in (*pose.pos, *quaternion.to_euler(*pose.quat)))


def _set(parent: Element, tag: str, value: object) -> None:
    _child(parent, tag).text = str(value)


def _child(parent: Element, tag: str) -> Element:
    child = parent.find(tag)
    return etree.SubElement(parent, tag) if child is None else child
