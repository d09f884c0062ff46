"""Description of a vehicle from its SDF file: bodies, joints, actuators, sensors.

Body 0 is the base. Its frame has the model's axes and lies in the centre of gravity of the whole
vehicle with all joints at zero; FleetState.pos is that point. The frame of any other body lies
in that body's own centre of gravity, with the axes of the link that its joint moves.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Matrix = tuple[Vector, Vector, Vector]

BASE = 0  # index of the base among a vehicle's bodies


@dataclass(frozen=True)
class Body:
    """One rigid body: all links that no actuator moves against each other."""

    name: str  # name of its first link
    parent: int  # index of the body that its joint is attached to; -1 for the base
    mass: float  # [kg]
    inertia: Matrix  # about its own centre of gravity, axes of its frame [kg m^2]
    cog: Vector = (0.0, 0.0, 0.0)  # centre of gravity in its frame [m]; 0 but for the base
    pos: Vector = (0.0, 0.0, 0.0)  # origin of its frame in the parent's, joint at zero [m]
    quat: Quaternion = (0.0, 0.0, 0.0, 1.0)  # xyzw, its frame to the parent's, joint at zero
    links: tuple[str, ...] = ()  # full names of the links that it is made of


@dataclass(frozen=True)
class Joint:
    """A joint that an actuator moves. All others are fixed at zero and not listed."""

    name: str
    body: int  # the body that it moves against its parent
    prismatic: bool  # slides [m] instead of turning [rad]
    axis: Vector  # unit vector, frame of the body
    anchor: Vector  # a point on the axis, frame of the body [m]
    lower: float  # [rad] or [m]
    upper: float  # [rad] or [m]
    damping: float = 0.0  # viscous damping of the joint [N m s/rad] or [N s/m]


@dataclass(frozen=True, kw_only=True)
class Actuator:
    """Base class of actuators. Each kind adds its own fields, all of them numbers.

    A user-defined kind also has `act`: a compiled function, as the table of kinds in
    xtdrone_sim.plant.actuators calls it. An SDF file names it by module:Class.

    A command in lower..upper sets the target of the actuator: zero_position_armed +
    input_scaling * command. The names are those of sitl_gazebo's control channels.
    """

    kind: ClassVar[str]
    act: ClassVar[Callable[..., tuple[float, ...]] | None] = None
    name: str
    channel: int = -1  # PX4's number for its command
    body: int = BASE  # the body that it acts on
    lower: float = 0.0  # command range
    upper: float = 1.0
    input_scaling: float  # [rad/s], [rad] or [m] per unit of command
    zero_position_armed: float = 0.0  # at command 0 while armed [rad/s], [rad] or [m]


@dataclass(frozen=True, kw_only=True)
class Rotor(Actuator):
    """A rotor in the air, under PX4 sitl_gazebo's parameter names in snake case."""

    kind = "rotor"
    pos: Vector  # hub in the frame of its body [m]
    axis: Vector  # unit vector of the thrust, frame of its body
    direction: int  # turning direction seen from above: +1 CCW, -1 CW
    motor_constant: float  # C_T of XTDrone (3): thrust / speed^2 [N s^2]
    moment_constant: float  # C_M of (6): drag moment / thrust [m]
    rotor_drag_coefficient: float  # C_D of (4) [N s^2/m]
    rolling_moment_coefficient: float  # C_R of (5) [N s^2]
    time_constant_up: float  # [s]
    time_constant_down: float  # [s]
    max_rot_velocity: float  # [rad/s]
    max_relative_airspeed: float = 0.0  # along the axis, without thrust from here on [m/s]; 0: none
    bidirectional: bool = False  # turns both ways; commands are -1..1
    propeller: str = ""  # among the vehicle's propellers, in place of (3)-(6); "": those


@dataclass(frozen=True, kw_only=True)
class Servo(Actuator):
    """Moves a joint: a tilting motor, a gimbal's axis, an arm's joint."""

    kind = "servo"
    lower: float = -1.0
    joint: int  # index among the vehicle's joints; `body` is the one that it moves
    rate: float  # largest speed of the joint [rad/s] or [m/s]
    time_constant: float  # lag behind the command [s]
    joint_lower: float  # where the joint ends [rad] or [m]
    joint_upper: float


@dataclass(frozen=True, kw_only=True)
class Surface(Actuator):
    """A control surface. Its deflection moves no body; it changes the forces of its Wing."""

    kind = "surface"
    lower: float = -1.0
    pos: Vector  # centre of pressure of its wing in the frame of its body [m]
    axis: Vector  # axis of the hinge, frame of its body
    rate: float  # [rad/s]
    time_constant: float  # [s]
    joint_lower: float  # [rad]
    joint_upper: float


@dataclass(frozen=True, kw_only=True)
class Wheel(Actuator):
    """Drives a wheel; the ground acts on its Tyre."""

    kind = "wheel"
    lower: float = -1.0
    pos: Vector  # hub in the frame of its body [m]
    axis: Vector  # about which it turns, frame of its body
    time_constant: float  # lag of its speed behind the command [s]
    max_rot_velocity: float  # [rad/s]


@dataclass(frozen=True, kw_only=True)
class Propeller(Actuator):
    """A propeller in the water."""

    kind = "propeller"
    lower: float = -1.0
    pos: Vector  # hub in the frame of its body [m]
    axis: Vector  # unit vector of the thrust, frame of its body
    direction: int  # turning direction seen along the axis: +1 CCW, -1 CW
    motor_constant: float  # thrust / speed^2 [N s^2]
    moment_constant: float  # drag moment / thrust [m]
    time_constant_up: float  # [s]
    time_constant_down: float  # [s]
    max_rot_velocity: float  # [rad/s]


@dataclass(frozen=True, kw_only=True)
class Gripper(Actuator):
    """A magnet or suction cup: holds what its link touches while its target is above CLOSED."""

    kind = "gripper"
    lower: float = -1.0
    pos: Vector  # of its link in the frame of its body [m]
    link: str  # full name of that, whose collisions hold
    max_force: float  # pull at which it loses what it holds [N]


CLOSED = 0.5  # target of a gripper above which it is closed

# In records a kind is its index here, from 1; others follow, see FleetModel.kinds.
KINDS: tuple[type[Actuator], ...] = (Rotor, Servo, Surface, Wheel, Propeller, Gripper)


@dataclass(frozen=True)
class SensorBlock:
    """One sensor as the SDF has it; sensor_models turns it into parameters."""

    kind: str  # imu, magnetometer, barometer, gps, camera, ...
    name: str
    pos: Vector  # position in the frame of its body, the base's in its centre of gravity [m]
    quat: Quaternion  # xyzw, sensor to body
    parameters: dict[str, Any]  # tags of the plugin or sensor element, as text or nested dict
    body: int = BASE  # the body that it is mounted on


@dataclass(frozen=True)
class Pack:
    """The battery of a vehicle."""

    cells: int  # cells in series
    capacity: float  # [A h]
    internal_resistance: float  # resistance of the whole pack [Ohm]
    efficiency: float  # shaft power over electrical power, motors and speed controllers together
    rated_voltage: float  # at the terminals, from which on rotors reach maxRotVelocity [V]
    avionics_power: float  # taken by everything but the motors [W]
    charge: float  # charge at start, 0 to 1
    rotor_power_constant: float  # shaft power / speed^3 of a rotor [W s^3]; 0 = C_M C_T


@dataclass(frozen=True, kw_only=True)
class Wing:
    """A lifting surface, under the parameter names of PX4 sitl_gazebo's LiftDrag plugin."""

    name: str
    body: int = BASE  # the body that it acts on
    control: int = -1  # index of the actuator that deflects its control surface; -1 = none
    rotor: int = -1  # index of the actuator in whose slipstream it lies; -1 = none
    disc_area: float = 0.0  # disc area of that rotor [m^2]
    pos: Vector  # centre of pressure in the frame of its body [m]
    forward: Vector  # unit vector against the drag at no angle of attack, frame of its body
    upward: Vector  # unit vector of the lift there, frame of its body
    radial_symmetry: bool = False  # `upward` turns with the air, as around a fuselage
    area: float  # [m^2]
    air_density: float  # at the world's origin [kg/m^3]
    alpha0: float  # angle of attack when the air comes from `forward` [rad]
    alpha_stall: float  # [rad]
    cla: float  # slopes of lift, drag and moment over the angle of attack [1/rad]
    cda: float
    cma: float
    cla_stall: float  # the same beyond the stall
    cda_stall: float
    cma_stall: float
    cd_alpha0: float  # drag and moment at no angle of attack
    cm_alpha0: float
    cl_delta: float  # change by the deflection of the control surface [1/rad]
    cd_delta: float
    cm_delta: float


@dataclass(frozen=True, kw_only=True)
class HalfWing:
    """Half a wing with its elevon, behind a propeller; names as in dronesim (6)-(11)."""

    body: int = BASE  # the body that it acts on
    control: int  # index of the actuator that deflects its elevon
    rotor: int  # index of the rotor ahead of it
    pos: Vector  # the half wing's point in the frame of its body [m]
    forward: Vector  # unit vector along the thrust, frame of its body
    left: Vector  # unit vector along the span, about which the elevon turns, frame of its body
    area: float  # area of this half [m^2]
    chord: float  # [m]
    span: float  # span of the whole wing [m]
    cd0: float  # drag along the thrust
    cy0: float  # drag along the span
    lift_slope: float  # [1/rad]
    offset: float  # distance of the aerodynamic centre ahead of `pos` [m]
    zeta_f: float  # effect of the elevon on the force
    zeta_m: float  # effect of the elevon on the moment
    damping: Vector  # diagonal of Phi_mw
    disc_area: float  # disc area of the propeller [m^2]


@dataclass(frozen=True, kw_only=True)
class Tyre:
    """Contact of a wheel with the ground, driven or not; see xtdrone_dynamics.forces.tyre."""

    name: str
    link: str  # full name of the wheel's link, whose collision rolls on the ground
    body: int = BASE  # the body that it acts on
    wheel: int = -1  # index of the Wheel that drives it; -1 = it rolls freely
    pos: Vector  # hub in the frame of its body [m]
    axis: Vector  # unit vector about which it turns, frame of its body
    radius: float  # [m]
    friction: float  # Coulomb's, in the direction of rolling
    lateral_friction: float  # along the axis
    slip_stiffness: float  # force over load per unit of small slip
    relaxation_length: float  # rolled until the force follows a change of slip [m]


@dataclass(frozen=True, kw_only=True)
class Hull:
    """A float in the water; see xtdrone_dynamics.forces.hull."""

    name: str
    body: int = BASE  # the body that it acts on
    pos: Vector  # centre of its bottom, frame of its body [m]
    length: float  # along the body's x axis [m]
    width: float  # [m]
    height: float  # [m]
    half_cylinder: bool = False  # instead of a box: lying, its round side down
    displacement: float  # submerged volume at which the drag coefficients hold [m^3]
    linear_drag: Vector  # along the axes of its body [N s/m]
    quadratic_drag: Vector  # [N s^2/m^2]
    linear_damping: Vector  # about the axes of its body [N m s/rad]
    quadratic_damping: Vector  # [N m s^2/rad^2]


@dataclass(frozen=True)
class Vehicle:
    """One type of vehicle.

    Examples:
        >>> import xtdrone as xd
        >>> len(xd.load_vehicle("typhoon_h480").rotors)
        6
    """

    type: str
    sdf: Path
    mass: float  # whole vehicle [kg]
    inertia: Matrix  # whole vehicle with all joints at zero, about its centre of gravity [kg m^2]
    cog: Vector  # centre of gravity with all joints at zero, in the model frame [m]
    bodies: tuple[Body, ...]  # the base first, parents before their children
    joints: tuple[Joint, ...] = ()
    actuators: tuple[Actuator, ...] = ()  # rotors by motorNumber, then the others by channel
    wings: tuple[Wing, ...] = ()
    half_wings: tuple[HalfWing, ...] = ()
    tyres: tuple[Tyre, ...] = ()
    hulls: tuple[Hull, ...] = ()
    sensors: tuple[SensorBlock, ...] = ()
    shapes: tuple[Any, ...] = ()  # collisions and visuals, each in the frame of its body
    effects: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=dict)  # by name
    battery: Pack | None = None  # None: the flight stack simulates one, as PX4 does
    propellers: dict[str, tuple[float, ...]] = field(default_factory=dict)  # numbers by name
    remarks: tuple[str, ...] = ()  # a line for each thing of the file that is left out or changed
    slung: tuple[Any, ...] = ()  # loads on cables that its file has, as xtdrone_sim reads them

    @property
    def rotors(self) -> tuple[Rotor, ...]:
        """Its rotors, the first of its actuators."""
        return tuple(actuator for actuator in self.actuators if isinstance(actuator, Rotor))

    @property
    def grippers(self) -> tuple[Gripper, ...]:
        """Its grippers, in the order of their channels."""
        return tuple(actuator for actuator in self.actuators if isinstance(actuator, Gripper))
