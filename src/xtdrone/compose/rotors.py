"""Rotors: where they are, and their thrust curve."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xtdrone_core.errors import ScenarioError, shown

from .frame import BASE
from .part import (
    OWN,
    Colour,
    Element,
    Part,
    Vector,
    add,
    add_colour,
    add_inertial,
    add_pose,
    check_positive,
    check_vectors,
)

_TURNING = ("ccw", "cw")


@dataclass(frozen=True, kw_only=True)
class ThrustCurve:
    """Motor and propeller. Inherit and implement coefficients().

    A command 0..1 asks for the speed idle_speed + (max_speed - idle_speed) * command.

    Examples:
        A curve from a measurement on a bench:

        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Measured(ThrustCurve):
        ...     thrust: float  # at max_speed [N]
        ...
        ...     def coefficients(self):
        ...         return {"motorConstant": self.thrust / self.max_speed ** 2,
        ...                 "momentConstant": 0.016, "rotorDragCoefficient": 1.75e-4,
        ...                 "rollingMomentCoefficient": 1e-6}
        >>> round(Measured(max_speed=1000.0, thrust=6.0).coefficients()["motorConstant"], 9)
        6e-06
    """

    max_speed: float  # [rad/s]
    idle_speed: float = 0.0  # speed of an armed rotor at command 0 [rad/s]
    time_constant_up: float = 0.0125  # time constant of its speed as it rises [s]
    time_constant_down: float = 0.025  # [s]
    max_command_speed: float = 0.0  # speed that command 1 asks for [rad/s]; 0: max_speed
    reversible: bool = False  # turns both ways; commands are -1..1

    def __post_init__(self) -> None:
        check_positive("a thrust curve", max_speed=self.max_speed)
        if not 0.0 <= self.idle_speed < (self.max_command_speed or self.max_speed):
            raise ScenarioError(
                f"idle_speed {self.idle_speed} of a thrust curve is not allowed: "
                "give rad/s from 0, below the largest speed"
            )

    def coefficients(self) -> Mapping[str, float]:
        """Returns the numbers of its motor plugin by PX4's tags; see docs/vehicles.md."""
        raise NotImplementedError

    def write(self, plugin: Element) -> None:
        """Adds its elements to the motor's plugin."""
        for tag, value in (
            ("timeConstantUp", self.time_constant_up),
            ("timeConstantDown", self.time_constant_down),
            ("maxRotVelocity", self.max_speed),
            *self.coefficients().items(),
        ):
            add(plugin, tag, float(value))
        if self.reversible:
            add(plugin, "reversible", True)


@dataclass(frozen=True, kw_only=True)
class QuadraticThrust(ThrustCurve):
    """Thrust and drag moment in proportion to the speed squared, XTDrone (3)-(6).

    Examples:
        >>> QuadraticThrust().coefficients()["motorConstant"]
        5.84e-06
    """

    max_speed: float = 1100.0
    idle_speed: float = 100.0
    motor_constant: float = 5.84e-6  # C_T: thrust / speed^2 [N s^2]
    moment_constant: float = 0.06  # C_M: drag moment / thrust [m]
    drag_coefficient: float = 1.75e-4  # C_D of (4) [N s^2/m]
    rolling_coefficient: float = 1e-6  # C_R of (5) [N s^2]

    def coefficients(self) -> Mapping[str, float]:
        """Returns the four constants."""
        return {
            "motorConstant": self.motor_constant,
            "momentConstant": self.moment_constant,
            "rotorDragCoefficient": self.drag_coefficient,
            "rollingMomentCoefficient": self.rolling_coefficient,
        }


@dataclass(frozen=True, kw_only=True)
class PropellerThrust(ThrustCurve):
    """The same constants from a propeller's geometry and static test, XTDrone (7)-(10).

    Examples:
        >>> PropellerThrust(max_speed=900.0, diameter=0.25, chord=0.02, static_thrust=0.1,
        ...                 static_moment=0.02, static_drag=0.03).blades
        2
    """

    diameter: float  # [m]
    blades: int = 2
    chord: float  # [m]
    static_thrust: float  # coefficient C_T0
    static_moment: float  # coefficient C_P0
    static_drag: float  # coefficient C_D0 of a blade
    root_pitch: float = 0.35  # [rad]
    twist: float = -0.1  # [rad]
    lift_slope: float = 5.7  # [1/rad]

    def coefficients(self) -> Mapping[str, float]:
        """Returns none: the reader computes them from the geometry."""
        return {}

    def write(self, plugin: Element) -> None:
        """Adds <xtdrone:propeller>."""
        super().write(plugin)
        blade = add(plugin, OWN + "propeller")
        for tag, value in (
            ("diameter", self.diameter),
            ("blades", self.blades),
            ("chord", self.chord),
            ("staticThrust", self.static_thrust),
            ("staticMoment", self.static_moment),
            ("staticDrag", self.static_drag),
            ("rootPitch", self.root_pitch),
            ("twist", self.twist),
            ("liftSlope", self.lift_slope),
        ):
            add(blade, tag, value)


@dataclass(frozen=True, kw_only=True)
class ModelledThrust(ThrustCurve):
    """A propeller by a model of its own, see docs/propellers.md.

    Examples:
        >>> ModelledThrust(max_speed=900.0, propeller="apcsf-10x4.7").model
        ''
    """

    propeller: str  # name, or file beside the vehicle's
    model: str = ""  # one of `xtdrone propeller`'s; "": what the propeller has

    def coefficients(self) -> Mapping[str, float]:
        """Returns none: the model has them."""
        return {}

    def write(self, plugin: Element) -> None:
        """Adds <xtdrone:propeller>."""
        super().write(plugin)
        block = add(plugin, OWN + "propeller")
        add(block, "name", self.propeller)
        if self.model:
            add(block, "model", self.model)


@dataclass(frozen=True, kw_only=True)
class Rotor(Part):
    """One rotor; its number is its place among the vehicle's rotors.

    Examples:
        >>> Rotor(pos=(0.15, -0.25, 0.02), turning="ccw").curve.max_speed
        1100.0
    """

    pos: Vector  # position of the hub from the frame's centre of gravity [m]
    turning: str  # seen from above: ccw or cw
    curve: ThrustCurve = QuadraticThrust()
    axis: Vector = (0.0, 0.0, 1.0)  # direction of the thrust
    mass: float = 0.005  # [kg]
    radius: float = 0.128  # radius of its disc, for its inertia and look [m]
    inertia: Vector | None = None  # principal moments [kg m^2]; None: of a rod of that length
    colour: Colour = (0.9, 0.35, 0.05)

    def __post_init__(self) -> None:
        check_vectors("a rotor", pos=self.pos, axis=self.axis)
        check_positive("a rotor", mass=self.mass, radius=self.radius)
        if self.turning not in _TURNING:
            raise ScenarioError(
                f"turning '{shown(self.turning)}' of a rotor is not allowed: give ccw or cw"
            )
        if not any(self.axis):
            raise ScenarioError(
                "axis 0 0 0 of a rotor is not allowed: give the direction of its thrust"
            )

    def write_number(self, model: Element, number: int) -> None:
        """Adds link, joint and motor of rotor `number`, and the arm to it."""
        name = f"rotor_{number}"
        link = add(model, "link", name=name)
        add_pose(link, self.pos, relative_to=BASE)
        blade = self.mass * (2.0 * self.radius) ** 2 / 12.0
        add_inertial(link, self.mass, self.inertia or (blade * 0.01, blade, blade))
        self._blades(link)
        joint = add(model, "joint", name=f"{name}_joint", type="revolute")
        add(joint, "parent", BASE)
        add(joint, "child", name)
        axis = add(joint, "axis")
        add(axis, "xyz", self.axis)
        limit = add(axis, "limit")
        add(limit, "lower", -1e16)
        add(limit, "upper", 1e16)
        plugin = add(model, "plugin", name=f"{name}_motor", filename="libgazebo_motor_model.so")
        for tag, value in (
            ("robotNamespace", ""),
            ("jointName", f"{name}_joint"),
            ("linkName", name),
            ("turningDirection", self.turning),
            ("motorNumber", number),
            ("commandSubTopic", "/gazebo/command/motor_speed"),
            ("motorSpeedPubTopic", f"/motor_speed/{number}"),
            ("rotorVelocitySlowdownSim", 10),
        ):
            add(plugin, tag, value)
        self.curve.write(plugin)
        self._arm(model.find(f"link[@name='{BASE}']"), number)

    def channel(self, channels: Element, number: int) -> None:
        """Adds its output of the autopilot to <control_channels>."""
        channel = add(channels, "channel", name=f"rotor{number + 1}")
        top = self.curve.max_command_speed or self.curve.max_speed
        for tag, value in (
            ("input_index", number),
            ("input_offset", 0.0),
            ("input_scaling", top - self.curve.idle_speed),
            ("zero_position_disarmed", 0.0),
            ("zero_position_armed", self.curve.idle_speed),
            ("joint_control_type", "velocity"),
        ):
            add(channel, tag, value)

    def _blades(self, link: Element) -> None:
        visual = add(link, "visual", name="blades")
        add(add(add(visual, "geometry"), "box"), "size", (2.0 * self.radius, 0.018, 0.003))
        add_colour(visual, self.colour)

    def _arm(self, base: Element, number: int) -> None:
        x, y, z = self.pos
        length = math.hypot(x, y)
        if length == 0.0:
            return
        visual = add(base, "visual", name=f"arm_{number}")
        add_pose(
            visual, (0.5 * x, 0.5 * y, 0.5 * z), (0.0, -math.atan2(z, length), math.atan2(y, x))
        )
        add(add(add(visual, "geometry"), "box"), "size", (math.hypot(length, z), 0.02, 0.015))
        add_colour(visual, self.colour)


def rotors_in_x(
    arm: float,
    height: float = 0.02,
    n: int = 4,
    curve: ThrustCurve = QuadraticThrust(),
    **others: Any,  # fields of Rotor, each of its own type
) -> tuple[Rotor, ...]:
    """Makes rotors on a circle, half a step off the nose; four in PX4's order of a quadrotor X.

    Args:
        arm: Distance of the hubs from the middle [m].
        height: Height of the hubs above the frame's centre of gravity [m].
        n: How many, an even number from 4.
        curve: Thrust curve of all.
        others: Further fields of Rotor.

    Raises:
        ScenarioError: n is not allowed.

    Examples:
        >>> " ".join(rotor.turning for rotor in rotors_in_x(0.25))
        'ccw ccw cw cw'
    """
    if n < 4 or n > 16 or n % 2:
        raise ScenarioError(f"{n} rotors in X are not allowed: give an even number from 4 to 16")
    check_positive("rotors in X", arm=arm)
    step = 2.0 * math.pi / n
    # Seen from above, counter-clockwise from the front left: clockwise, counter-clockwise, ...
    order = (3, 1, 0, 2) if n == 4 else range(n)
    return tuple(
        Rotor(
            pos=(arm * math.cos((k + 0.5) * step), arm * math.sin((k + 0.5) * step), height),
            turning=_TURNING[1 - k % 2],
            curve=curve,
            **others,
        )
        for k in order
    )
