"""The SDF that Gazebo 11 gets: our world, our vehicles as one body each, the lockstep plugin."""

import copy
import math

from lxml import etree

from sensor_models.cameras import cameras_of
from sensor_models.lens import pinhole_of
from xtdrone_core import Vehicle, VehicleSpec
from xtdrone_dynamics import quaternion
from xtdrone_dynamics.constants import GRAVITY

from ...errors import EngineError
from ...vehicles.pose import Pose
from ...vehicles.sdf_tree import Scope, parse, pose_of, resolve_uri
from ...world import World
from ..mujoco_scene import start_pose

_VERSION = "1.7"
_LINK = "body"
_DEPTH = 5e-4  # that a standing vehicle sinks into the ground [m]
_FEET = 4  # points on which it stands


def world_sdf(world: World, specs, models, plugin, socket, looks, step: float) -> str:
    """The whole world, as text.

    Plugins of the world's own file are left out: wind and sensors are ours.

    Args:
        world: The world.
        specs: The VehicleSpecs.
        models: Their Vehicles.
        plugin: Path of the lockstep plugin.
        socket: Path of the Unix socket that it shall connect to.
        looks: Path of the Unix socket for cameras.
        step: Length of a physics step [s].

    Raises:
        EngineError: Something in the world is called like a vehicle.
    """
    element = copy.deepcopy(parse(world.sdf, "world"))
    taken = {child.get("name") for child in element} & {spec.name for spec in specs}
    if taken:
        raise EngineError(f"world '{world.name}' has something called '{min(taken)}' like a "
                          "vehicle, which Gazebo cannot tell apart: rename one of them")
    for unwanted in element.findall("plugin"):
        element.remove(unwanted)
    physics = element.find("physics")
    if physics is None:
        physics = etree.SubElement(element, "physics", type="ode")
    for tag, value in (("max_step_size", step), ("real_time_factor", 0),
                       ("real_time_update_rate", 0)):
        _set(physics, tag, value)
    for spec, model in zip(specs, models):
        element.append(_vehicle(spec, model))
    lockstep = etree.SubElement(element, "plugin", name="lockstep", filename=str(plugin))
    etree.SubElement(lockstep, "socket").text = str(socket)
    etree.SubElement(lockstep, "looks").text = str(looks)
    return _document(element)


def vehicle_sdf(spec: VehicleSpec, model: Vehicle) -> str:
    """One vehicle at its start, as text."""
    return _document(_vehicle(spec, model))


def _vehicle(spec, model):
    """A model with one link, whose frame lies in the vehicle's centre of gravity."""
    pose = start_pose(spec, model)
    out = etree.Element("model", name=spec.name)
    _set(out, "pose", _six(pose))
    link = etree.SubElement(out, "link", name=_LINK)
    inertial = etree.SubElement(link, "inertial")
    _set(inertial, "mass", repr(float(model.mass)))
    inertia = etree.SubElement(inertial, "inertia")
    for j, row in enumerate("xyz"):
        for k in range(j, 3):
            _set(inertia, f"i{row}{'xyz'[k]}", repr(float(model.inertia[j][k])))
    to_cog = Pose(tuple(-c for c in model.cog))
    for name, source, link_pose in Scope(parse(model.sdf, "model"), Pose()).links():
        for child in source.iterchildren("collision", "visual"):
            shape = copy.deepcopy(child)
            shape.set("name", f"{name}::{child.get('name')}".replace("::", "."))
            for old in shape.findall("pose"):
                shape.remove(old)
            _set(shape, "pose", _six(to_cog.to(link_pose.to(pose_of(child)))))
            for uri, there in zip(shape.iterfind(".//mesh/uri"), child.iterfind(".//mesh/uri")):
                uri.text = f"file://{resolve_uri(there, there.text.strip())}"
            if shape.tag == "collision":
                _soften(shape, model.mass)
            link.append(shape)
    for block in model.sensors:
        if block.kind in ("camera", "depth"):
            link.append(_camera(block))
    return out


def _camera(block):
    """Gazebo's cameras for a block: the ideal images that our lenses start from.

    They stay inactive: the plugin draws with them. Their rate is for subscribers of Gazebo's own
    topics.
    """
    cameras = cameras_of(block)
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
        for tag, value in (("width", pinhole.width), ("height", pinhole.height),
                           ("format", "R8G8B8"), ("anti_aliasing", camera.anti_aliasing)):
            _set(image, tag, value)
        clip = etree.SubElement(element, "clip")
        _set(clip, "near", camera.near)
        _set(clip, "far", camera.far)
    return sensor


def _soften(collision, mass):
    """Gives a collision springs and dampers in place of ODE's stiff contact.

    A stiff one makes a standing vehicle shake by 5 m/s^2 at every step, which
    no real accelerometer shows and no estimator can take for standing still.
    """
    surface = _child(collision, "surface")
    for old in surface.findall("contact"):
        surface.remove(old)
    ode = etree.SubElement(etree.SubElement(surface, "contact"), "ode")
    stiffness = mass * GRAVITY / _DEPTH / _FEET
    damping = 2.0 * math.sqrt(stiffness * mass / _FEET)  # critical
    for tag, value in (("kp", stiffness), ("kd", damping), ("max_vel", 1.0), ("min_depth", 0.0)):
        _set(ode, tag, value)


def _document(element) -> str:
    root = etree.Element("sdf", version=_VERSION)
    root.append(element)
    etree.strip_elements(root, "{urn:xtdrone}*", with_tail=False)
    etree.cleanup_namespaces(root)
    return etree.tostring(root, encoding="unicode")


def _six(pose) -> str:
    return " ".join(repr(float(x)) for x in (*pose.pos, *quaternion.to_euler(*pose.quat)))


def _set(parent, tag, value):
    _child(parent, tag).text = str(value)


def _child(parent, tag):
    child = parent.find(tag)
    return etree.SubElement(parent, tag) if child is None else child
