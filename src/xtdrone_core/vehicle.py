"""A vehicle as its SDF file describes it, and a fleet of them as padded arrays."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Rotor:
    """One rotor, under PX4 sitl_gazebo's parameter names in snake case."""

    pos: tuple[float, float, float]  # hub from the centre of gravity, body FLU [m]
    axis: tuple[float, float, float]  # unit vector of the thrust, body FLU
    direction: int  # turning direction seen from above: +1 CCW, -1 CW
    motor_constant: float  # C_T of XTDrone (3): thrust / speed^2 [N s^2]
    moment_constant: float  # C_M of (6): drag moment / thrust [m]
    rotor_drag_coefficient: float  # C_D of (4) [N s^2/m]
    rolling_moment_coefficient: float  # C_R of (5) [N s^2]
    time_constant_up: float  # [s]
    time_constant_down: float  # [s]
    max_rot_velocity: float  # [rad/s]
    input_scaling: float  # speed per unit of command [rad/s]
    zero_position_armed: float  # speed at command 0 while armed [rad/s]


@dataclass(frozen=True)
class SensorBlock:
    """One sensor as the SDF has it; sensor_models turns it into parameters."""

    kind: str  # imu, magnetometer, barometer, gps, camera, ...
    name: str
    pos: tuple[float, float, float]  # from the centre of gravity, body FLU [m]
    quat: tuple[float, float, float, float]  # xyzw, sensor to body
    parameters: dict  # the tags of the plugin or sensor element, as text or nested dict


@dataclass(frozen=True)
class Pack:
    """The battery of a vehicle."""

    cells: int  # in series
    capacity: float  # [A h]
    internal_resistance: float  # of the whole pack [Ohm]
    efficiency: float  # of motors and speed controllers: shaft power over electrical power
    rated_voltage: float  # at the terminals, from which on rotors reach maxRotVelocity [V]
    avionics_power: float  # taken by everything but the motors [W]
    charge: float  # at start, 0 to 1
    rotor_power_constant: float  # shaft power / speed^3 of a rotor [W s^3]; 0 = C_M C_T


@dataclass(frozen=True)
class VehicleModel:
    """One type of vehicle. Rotors and sensors are relative to the centre of gravity."""

    type: str
    sdf: Path
    mass: float  # whole vehicle [kg]
    inertia: tuple  # (3, 3) about the centre of gravity, body FLU [kg m^2]
    cog: tuple[float, float, float]  # centre of gravity in the model frame [m]
    rotors: tuple[Rotor, ...]
    sensors: tuple[SensorBlock, ...] = ()
    effects: dict = field(default_factory=dict)  # aerodynamic effects that it names: values
    battery: Pack | None = None  # None: the flight stack simulates one, as PX4 does


@dataclass(frozen=True)
class FleetModel:
    """Padded arrays over N vehicles with at most R rotors, for compiled kernels.

    Padding rotors have mask False and all coefficients zero.
    """

    vehicles: tuple[VehicleModel, ...]
    mass: np.ndarray  # (N,) [kg]
    inertia: np.ndarray  # (N, 3, 3) [kg m^2]
    rotor_mask: np.ndarray  # (N, R) bool
    rotor_pos: np.ndarray  # (N, R, 3) from the centre of gravity [m]
    rotor_axis: np.ndarray  # (N, R, 3)
    rotor_direction: np.ndarray  # (N, R) +1 CCW, -1 CW, 0 padding
    motor_constant: np.ndarray  # (N, R)
    moment_constant: np.ndarray  # (N, R)
    rotor_drag_coefficient: np.ndarray  # (N, R)
    rolling_moment_coefficient: np.ndarray  # (N, R)
    time_constant_up: np.ndarray  # (N, R)
    time_constant_down: np.ndarray  # (N, R)
    max_rot_velocity: np.ndarray  # (N, R)
    input_scaling: np.ndarray  # (N, R)
    zero_position_armed: np.ndarray  # (N, R)

    @property
    def n(self) -> int:
        """Number of vehicles."""
        return len(self.vehicles)

    @classmethod
    def of(cls, vehicles) -> "FleetModel":
        """The padded arrays of a sequence of VehicleModel."""
        vehicles = tuple(vehicles)
        n, r = len(vehicles), max(len(v.rotors) for v in vehicles)

        def table(attribute, width=()):
            out = np.zeros((n, r) + width)
            for i, vehicle in enumerate(vehicles):
                for j, rotor in enumerate(vehicle.rotors):
                    out[i, j] = getattr(rotor, attribute)
            return out

        mask = np.zeros((n, r), dtype=np.bool_)
        for i, vehicle in enumerate(vehicles):
            mask[i, :len(vehicle.rotors)] = True
        scalars = ("motor_constant", "moment_constant", "rotor_drag_coefficient",
                   "rolling_moment_coefficient", "time_constant_up", "time_constant_down",
                   "max_rot_velocity", "input_scaling", "zero_position_armed")
        return cls(vehicles=vehicles,
                   mass=np.array([v.mass for v in vehicles]),
                   inertia=np.array([v.inertia for v in vehicles], dtype=float),
                   rotor_mask=mask, rotor_pos=table("pos", (3,)), rotor_axis=table("axis", (3,)),
                   rotor_direction=table("direction"), **{name: table(name) for name in scalars})
