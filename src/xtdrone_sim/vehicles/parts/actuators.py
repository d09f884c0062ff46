"""The actuators of a model, as PX4's sitl_gazebo plugins declare them.

Each plugin gazebo_motor_model is a rotor; with <xtdrone:in_water/>, or beside gazebo_uuv_plugin, a
propeller in the water. Each
channel of gazebo_mavlink_interface whose joint no such plugin turns is an actuator, too: with
joint_control_type position a control surface, where a plugin LiftDragPlugin names that joint,
or else a servo, which moves the joint; with velocity a wheel. A channel with
<xtdrone:actuator kind="module:Class"> is an actuator of that user-defined kind: <link> and
<pos> [m] give its position, and the other elements have the names of its fields.
Each plugin gazebo_ros_vacuum_gripper is a gripper, on the channel of <xtdrone:gripper_channel>, or
on the first that is free.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, get_type_hints

from xtdrone_core import ScenarioError, registry
from xtdrone_core.vehicle import Actuator, Gripper, Propeller, Rotor, Servo, Surface, Vector, Wheel
from xtdrone_dynamics.constants import SEA_LEVEL_DENSITY
from xtdrone_dynamics.forces import rotor

from ..plugins import plugin_name, system_of
from ..sdf_file import OWN, Element, fail, note
from ..sdf_tree import Scope, flag, name_of, number, refuse_unknown, text, vector
from ..shapes import Shape
from .blades import CHOICE, chosen
from .links import NO_LIMIT, Links, axis_in_body, child_of, joint_limits, moves, unit
from .tyres import rims
from .wings import HALF_WING, centre_of_pressure, control_joint, wing_plugins

_PROPELLER = (
    "diameter",
    "blades",
    "chord",
    "staticThrust",
    "staticMoment",
    "staticDrag",
    "rootPitch",
    "twist",
    "liftSlope",
)  # elements of <xtdrone:propeller>
_MOTOR, _MAVLINK = "gazebo_motor_model", "gazebo_mavlink_interface"
_GIMBAL = "gazebo_gimbal_controller_plugin"
_SUBMARINE = "gazebo_uuv_plugin"  # plugin of vehicles with propellers in the water
_VACUUM = "gazebo_ros_vacuum_gripper"
ACTUATOR_PLUGINS = (_MOTOR, _MAVLINK, _GIMBAL, _SUBMARINE, _VACUUM)  # those that are read
# Values of the new Gazebo's motor model for what a file leaves out.
_SYSTEM_DEFAULTS = {
    "maxRotVelocity": 838.0,
    "motorConstant": 8.54858e-06,
    "momentConstant": 0.016,
    "rotorDragCoefficient": 1e-4,
    "rollingMomentCoefficient": 1e-6,
    "timeConstantUp": 0.0125,
    "timeConstantDown": 0.025,
}
_OUTPUTS = 16  # outputs of the autopilot, as PX4 has them
_LAG = 0.05  # default of a servo [s]
_HOLD = 20.0  # default of gazebo_ros_vacuum_gripper [N]


@dataclass(frozen=True)
class Channel:
    """One output of the autopilot, from a control channel of the MAVLink plugin."""

    scope: Scope
    element: Element
    number: int
    name: str
    scaling: float
    zero: float
    joint: str  # full name; empty where the channel names none
    position: bool  # position control of the joint instead of velocity


def read_channels(scope: Scope, remarks: list[str]) -> list[Channel]:
    """All control channels of a model.

    Args:
        scope: The model.
        remarks: Gets a line on each channel whose joint is not there, or driven already.
    """
    channels: list[Channel] = []
    missing: list[str] = []
    for owner, plugin in scope.elements("plugin"):
        if plugin_name(plugin) == _MAVLINK:
            channels += [
                _channel(owner, element, missing)
                for element in plugin.iterfind("control_channels/channel")
            ]
    if missing:
        remarks.append(
            f"channels without effect, since their joints are not there: {', '.join(missing)}"
        )
    for k, channel in enumerate(channels):
        if channel.joint and channel.joint in [before.joint for before in channels[:k]]:
            remarks.append(
                f"channel '{channel.name}' has no effect: another one drives the joint "
                f"'{channel.joint}'"
            )
            channels[k] = replace(channel, joint="")
    return channels


def _channel(scope: Scope, element: Element, missing: list[str]) -> Channel:
    scaling = number(element, "input_scaling")
    # PX4's plugin computes (command + offset) scaling + zero.
    zero = (
        number(element, "zero_position_armed", 0.0) + number(element, "input_offset", 0.0) * scaling
    )
    name, control = element.get("name", ""), text(element, "joint_control_type", "velocity")
    joint = _gimbal_joint(scope, element) if control == "position_gztopic" else ""
    joint = joint or element.findtext("joint_name", "").strip()
    # Gazebo also takes a name that begins with the model's own.
    joint = joint.removeprefix(f"{name_of(scope.element)}::")
    if joint and not scope.has("joint", joint):
        missing.append(f"'{name}' ({joint})")
        joint = ""
    return Channel(
        scope,
        element,
        _output(element, "input_index"),
        name,
        scaling,
        zero,
        scope.prefix + joint if joint else "",
        control.startswith("position"),
    )


def _output(element: Element, tag: str) -> int:
    """The number of one of the autopilot's outputs."""
    index = int(number(element, tag))
    if not 0 <= index < _OUTPUTS:
        fail(
            element,
            f"<{tag}> is {index}: the autopilot has {_OUTPUTS} outputs, give 0 to {_OUTPUTS - 1}",
        )
    return index


def _gimbal_joint(scope: Scope, element: Element) -> str:
    """The joint that the gimbal's plugin moves by a channel's topic, "/gimbal_roll_cmd"; or ""."""
    topic = element.findtext("gztopic", "")
    for plugin in scope.element.iterchildren("plugin"):
        if plugin_name(plugin) == _GIMBAL:
            for axis in ("roll", "pitch", "yaw"):
                if f"_{axis}_" in topic:
                    return plugin.findtext(f"joint_{axis}", "").strip()
    return ""


def driven_joints(scope: Scope, channels: Iterable[Channel]) -> dict[str, tuple[Scope, Element]]:
    """Full names of the joints that servos move, to (scope, element) of each."""
    surfaces, driven = _lifts(scope), {}
    for channel in channels:
        if (
            channel.position
            and channel.joint
            and channel.joint not in surfaces
            and channel.element.find(OWN + "actuator") is None
        ):
            joint = _joint_of(channel)
            if moves(joint):
                driven[channel.joint] = channel.scope, joint
    return driven


def read_actuators(
    scope: Scope, links: Links, channels: Sequence[Channel], shapes: Iterable[Shape]
) -> tuple[Actuator, ...]:
    """Rotors by motorNumber, then all others by channel.

    Args:
        scope: The model.
        links: Its links.
        channels: Its channels.
        shapes: Its shapes.

    Raises:
        SdfError: An invalid actuator.
    """
    by_number = {channel.number: channel for channel in channels}
    rotors: list[Rotor] = []
    rest: list[Actuator] = []
    wheels: list[Channel] = []
    turned = set()  # joints that motors turn
    plugins = scope.elements("plugin")
    submarine = any(plugin_name(plugin) == _SUBMARINE for _, plugin in plugins)
    for owner, plugin in plugins:
        if plugin_name(plugin) == _MOTOR and _turns(plugin):
            number_tag = (
                "motorNumber" if plugin.find("actuator_number") is None else "actuator_number"
            )
            index = _output(plugin, number_tag)
            turned.add(owner.prefix + text(plugin, "jointName"))
            if submarine or plugin.find(OWN + "in_water") is not None:
                rest.append(_propeller(owner, plugin, index, by_number.get(index), links))
            else:
                rotors.append(_rotor(owner, plugin, index, by_number.get(index), links))
    numbers = {rotor.channel for rotor in rotors}
    lifts = _lifts(scope)
    for channel in channels:
        if channel.element.find(OWN + "actuator") is not None:
            rest.append(_own(channel, links))
        elif (
            channel.joint
            and channel.joint not in turned
            and channel.number not in numbers
            and moves(_joint_of(channel))
        ):
            if channel.joint in lifts:
                owner, lifting = lifts[channel.joint]
                rest.append(_surface(channel, owner, lifting, links))
            elif channel.position:
                rest.append(_servo(channel, links, rotors))
            else:
                wheels.append(channel)
    rest += [_wheel(channel, links, len(wheels), rims(shapes)) for channel in wheels]
    for owner, plugin in plugins:
        if plugin_name(plugin) == _VACUUM:
            taken = {actuator.channel for actuator in (*rotors, *rest)} | by_number.keys()
            rest.append(_gripper(owner, plugin, taken, links))
    return tuple(
        actuator
        for kind in (rotors, rest)
        for actuator in sorted(kind, key=lambda actuator: actuator.channel)
    )


def by_joint(
    actuators: Sequence[Actuator], channels: Sequence[Channel]
) -> dict[str, tuple[int, Element]]:
    """Full names of the joints that channels turn, to the actuator's index and the element."""
    turning = {channel.number: channel for channel in channels if channel.joint}
    return {
        turning[actuator.channel].joint: (k, turning[actuator.channel].element)
        for k, actuator in enumerate(actuators)
        if actuator.channel in turning
    }


def _lifts(scope: Scope) -> dict[str, tuple[Scope, Element]]:
    """Full name of a control surface's joint to (scope, element) of its wing or half wing."""
    lifting = (*wing_plugins(scope), *scope.elements(HALF_WING))
    return {joint: lift for lift in lifting if (joint := control_joint(*lift))}


def _hub(scope: Scope, joint: Element, links: Links) -> tuple[int, Vector, Vector]:
    """Body, position and axis of a revolute joint: (index, (3,) [m], (3,) unit vector)."""
    frame = scope.pose(name_of(joint), joint)
    body, placed = links.inside(child_of(scope, joint), frame)
    return body, placed.pos, axis_in_body(scope, joint, links, body)


def _motor(
    scope: Scope, plugin: Element, index: int, channel: Channel | None, links: Links
) -> dict:
    """Common parameters of rotors and propellers."""
    joint = scope.find("joint", text(plugin, "jointName"), plugin)
    body, pos, axis = _hub(scope, joint, links)
    turning = text(plugin, "turningDirection")
    if turning not in ("ccw", "cw"):
        fail(plugin, f"turningDirection is '{turning}': give ccw or cw")
    top = _value(plugin, "maxRotVelocity")
    both = flag(plugin, "reversible")
    values: dict[str, Any] = {
        "name": name_of(joint),
        "channel": index,
        "body": body,
        "pos": pos,
        "axis": axis,
        "lower": -1.0 if both else 0.0,
        "direction": 1 if turning == "ccw" else -1,
        "max_rot_velocity": top,
        "input_scaling": channel.scaling if channel else top,
        "zero_position_armed": channel.zero if channel else 0.0,
        "time_constant_up": _value(plugin, "timeConstantUp"),
        "time_constant_down": _value(plugin, "timeConstantDown"),
    }
    for tag, value in (("maxRotVelocity", top), ("input_scaling", values["input_scaling"])):
        if value <= 0.0:
            fail(plugin, f"<{tag}> of a rotor is {value:g}: give a number above 0")
    for tag, key in (
        ("timeConstantUp", "time_constant_up"),
        ("timeConstantDown", "time_constant_down"),
    ):
        if values[key] < 0.0:
            fail(plugin, f"<{tag}> of a rotor is {values[key]:g}: give a number from 0")
    return values


def _turns(plugin: Element) -> bool:
    """Whether a motor is commanded by its speed, the only type that the plugins compute."""
    kind = text(plugin, "motorType", "velocity")
    if kind != "velocity":
        note(
            plugin,
            f"motor '{plugin.findtext('jointName')}' is of motorType {kind}: it does nothing",
        )
    return kind == "velocity"


def _value(plugin: Element, tag: str) -> float:
    """A number of a motor's plugin, which sitl_gazebo's has to give."""
    return number(plugin, tag, _SYSTEM_DEFAULTS[tag] if system_of(plugin) else None)


def _rotor(
    scope: Scope, plugin: Element, index: int, channel: Channel | None, links: Links
) -> Rotor:
    thrust, moment, drag, rolling = _coefficients(plugin)
    if thrust <= 0.0:
        fail(plugin, f"<motorConstant> of a rotor is {thrust:g}: give a number above 0")
    for tag, value in (
        ("momentConstant", moment),
        ("rotorDragCoefficient", drag),
        ("rollingMomentCoefficient", rolling),
    ):
        if value < 0.0:
            fail(plugin, f"<{tag}> of a rotor is {value:g}: give a number from 0")
    airspeed = number(plugin, "maxRelativeAirspeed", 0.0)
    if airspeed < 0.0:
        fail(
            plugin,
            f"<maxRelativeAirspeed> of a rotor is {airspeed:g}: give m/s above 0, or 0 "
            "for thrust at any airspeed",
        )
    values = _motor(scope, plugin, index, channel, links)
    made = chosen(plugin.find(OWN + "propeller"))
    return Rotor(
        **values,
        propeller=f"{made.name} ({made.model})" if made else "",
        motor_constant=thrust,
        moment_constant=moment,
        rotor_drag_coefficient=drag,
        rolling_moment_coefficient=rolling,
        max_relative_airspeed=airspeed,
        bidirectional=values["lower"] < 0.0,
    )


def _propeller(
    scope: Scope, plugin: Element, index: int, channel: Channel | None, links: Links
) -> Propeller:
    values = _motor(scope, plugin, index, channel, links)
    return Propeller(
        **{**values, "lower": -1.0},
        motor_constant=_value(plugin, "motorConstant"),
        moment_constant=_value(plugin, "momentConstant"),
    )


def _coefficients(plugin: Element) -> tuple:
    """C_T, C_M, C_D and C_R: the tags, or else from <xtdrone:propeller>.

    By XTDrone (7)-(10); of a propeller with a model, thrust and torque in still air, by which
    the flight stack knows it.
    """
    tags = ("motorConstant", "momentConstant", "rotorDragCoefficient", "rollingMomentCoefficient")
    blade = plugin.find(OWN + "propeller")
    made = chosen(blade)
    if made is not None:
        thrust, moment = made.constants()
        computed = thrust, moment, 0.0, 0.0
        return tuple(number(plugin, tag, value) for tag, value in zip(tags, computed, strict=True))
    if blade is None:
        return tuple(_value(plugin, tag) for tag in tags)
    refuse_unknown(blade, (*_PROPELLER, *CHOICE))
    values = {tag: number(blade, tag) for tag in _PROPELLER}
    for tag, value in values.items():
        if value <= 0.0 and tag not in ("rootPitch", "twist"):
            fail(blade, f"<{tag}> of a propeller is {value:g}: give a number above 0")
    diameter, blades, chord, thrust = (values[tag] for tag in _PROPELLER[:4])
    computed = (
        rotor.thrust_constant(thrust, diameter, SEA_LEVEL_DENSITY),
        rotor.moment_constant(values["staticMoment"], thrust, diameter),
        rotor.drag_coefficient(values["staticDrag"], blades, chord, diameter, SEA_LEVEL_DENSITY),
        rotor.rolling_coefficient(
            values["rootPitch"],
            values["twist"],
            blades,
            values["liftSlope"],
            chord,
            diameter,
            SEA_LEVEL_DENSITY,
        ),
    )
    return tuple(number(plugin, tag, value) for tag, value in zip(tags, computed, strict=True))


def _joint_of(channel: Channel) -> Element:
    name = channel.joint.removeprefix(channel.scope.prefix)
    return channel.scope.find("joint", name, channel.element)


def _common(channel: Channel) -> dict:
    return {
        "name": channel.name or channel.joint,
        "channel": channel.number,
        "input_scaling": channel.scaling,
        "zero_position_armed": channel.zero,
    }


def _moving(channel: Channel) -> dict:
    """Limits and lag of a channel's joint."""
    block = channel.element.find(OWN + "servo")
    lag = _LAG
    lower, upper, rate = joint_limits(_joint_of(channel))
    if block is not None:
        refuse_unknown(block, ("time_constant", "rate"))
        lag, rate = number(block, "time_constant", _LAG), number(block, "rate", rate)
        if lag < 0.0 or rate <= 0.0:
            fail(
                block,
                f"time_constant {lag:g}, rate {rate:g}: give a number from 0, and one above 0",
            )
    return {"rate": rate, "time_constant": lag, "joint_lower": lower, "joint_upper": upper}


def _servo(channel: Channel, links: Links, rotors: Sequence[Rotor]) -> Servo:
    joint = links.joint_of(channel.joint)
    body, ends = links.joints[joint].body, _moving(channel)
    endless = ends["joint_lower"] <= -NO_LIMIT or ends["joint_upper"] >= NO_LIMIT
    if endless and any(rotor.body == body for rotor in rotors):
        fail(
            _joint_of(channel),
            f"joint '{channel.joint}' tilts a rotor and has no end: give "
            "<lower> and <upper> in its <limit> [rad]",
        )
    return Servo(**_common(channel), **ends, joint=joint, body=body)


def _surface(channel: Channel, scope: Scope, plugin: Element, links: Links) -> Surface:
    body, pos = centre_of_pressure(scope, plugin, links)
    joint = _joint_of(channel)
    axis = axis_in_body(channel.scope, joint, links, body)
    return Surface(**_common(channel), **_moving(channel), body=body, axis=axis, pos=pos)


def _own(channel: Channel, links: Links) -> Actuator:
    """An actuator of a user-defined kind."""
    block = channel.element.find(OWN + "actuator")
    try:
        kind = registry.ACTUATORS.load(block.get("kind", ""))
    except ScenarioError as error:
        fail(block, str(error))
    if kind.act is None:
        fail(
            block,
            f"'{block.get('kind')}' is not a kind of actuator: give a class that inherits "
            "from xtdrone_core.vehicle.Actuator and has act()",
        )
    common, hints = _common(channel), get_type_hints(kind)
    given = {
        entry.name: hints[entry.name]
        for entry in fields(kind)
        if entry.name not in (*common, "body")
    }
    refuse_unknown(block, ("link", *given))
    link = channel.scope.prefix + text(block, "link")
    if link not in links.of_link:
        fail(block, f"there is no link '{link}'")
    body, frame = links.inside(link, channel.scope.pose(text(block, "link"), block))
    values = {}
    for name, hint in given.items():
        if block.find(name) is not None:
            values[name] = (
                vector(block, name, (0.0, 0.0, 0.0))
                if hint == Vector
                else hint(number(block, name))
            )
    if "pos" in values:
        values["pos"] = frame.point(values["pos"])
    if "axis" in values:
        values["axis"] = unit(frame.direction(values["axis"]))
    try:
        return kind(**common, body=body, **values)
    except TypeError as error:
        fail(block, f"an actuator of kind '{block.get('kind')}' is incomplete: {error}")


def _wheel(channel: Channel, links: Links, sharing: int, rims: dict[str, Shape]) -> Wheel:
    """A driven wheel; `sharing`: how many push the vehicle.

    PX4's plugin turns it by a torque in proportion to the error of its speed. While it rolls, it
    follows with the time constant of the vehicle's mass on that.
    """
    joint = _joint_of(channel)
    body, pos, axis = _hub(channel.scope, joint, links)
    block, gains = channel.element.find(OWN + "wheel"), channel.element.find("joint_control_pid")
    rim, gain = rims.get(child_of(channel.scope, joint)), 0.0
    if gains is not None:
        gain = number(gains, "p", 0.0)
    lag = links.mass / sharing * rim.size[0] ** 2 / gain if rim and gain > 0.0 else _LAG
    if block is not None:
        lag = number(block, "time_constant", lag)
        if lag < 0.0:
            fail(block, f"<time_constant> of a wheel is {lag:g}: give a number from 0")
    _, _, top = joint_limits(joint)
    return Wheel(
        **_common(channel), body=body, pos=pos, axis=axis, time_constant=lag, max_rot_velocity=top
    )


def _gripper(scope: Scope, plugin: Element, taken: Collection[int], links: Links) -> Gripper:
    """A gripper; `taken`: numbers of the channels that others have."""
    name = plugin.findtext("bodyName", "").strip() or text(plugin, "link_name")
    link = scope.prefix + name.removeprefix(f"{name_of(scope.element)}::")
    poses = {full: pose for full, _, pose in scope.links()}
    if link not in poses:
        fail(plugin, f"there is no link '{name}' for a gripper")
    force = number(plugin, "maxForce", _HOLD)
    if force <= 0.0:
        fail(plugin, f"<maxForce> of a gripper is {force:g}: give newtons above 0")
    tag = OWN + "gripper_channel"
    free = next((k for k in range(_OUTPUTS) if k not in taken), -1)
    channel = free if plugin.find(tag) is None else _output(plugin, tag)
    if channel < 0 or channel in taken:
        fail(plugin, f"a gripper needs a channel of its own, 0 to {_OUTPUTS - 1}: give <{tag}>")
    return Gripper(
        name=plugin.get("name", "gripper"),
        channel=channel,
        body=links.of_link[link],
        input_scaling=1.0,
        pos=links.inside(link, poses[link])[1].pos,
        link=link,
        max_force=force,
    )
