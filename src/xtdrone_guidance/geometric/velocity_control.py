"""Velocity control by geometry: the force for an acceleration, along the axis that is there.

The velocity error is integrated, as by Goodarzi, Lee and Lee, and in Pegasus: the thrust of a rotor
falls with the battery, and wind and payload are not in the model.
"""

import math

import numpy as np

from xtdrone_autopilot.control.vector import clamp
from xtdrone_autopilot.control.velocity import OFFBOARD
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.vehicle_status import TRAJECTORY
from xtdrone_core import FleetModel, SensorBatch
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate_inverse

from ..force import follow_jerk, point_force, velocity_gains, wanted_acceleration, within_limits

MIN_FORCE = 0.2  # least force for which a jerk turns the vehicle, over the weight
MAX_INTEGRAL = 0.5 * GRAVITY  # largest integral part [m/s^2]
MAX_AGE = 2  # steps of 4 ms after which the velocity loop has written new rates
MAX_TURN = 5.0  # largest body rate for the jerk [rad/s]


@njit
def _drag(vehicle: Record, axis: int) -> float:
    """Returns the acceleration against rotor drag on a trajectory, as the cascade here has it."""
    if vehicle.mode == OFFBOARD and math.isfinite(vehicle.sp_acc[axis] * vehicle.sp_vel[axis]):
        return float(vehicle.drag * vehicle.sp_vel[axis])
    return 0.0


@njit
def _follow_error(vehicle: Record, axis: int, gain: float, vel: float, dt: float) -> None:
    """Integrates the velocity error of an axis [m/s^2], by `gain` [1/s^2]; NaN counts as none."""
    if math.isfinite(vehicle.sp_vel[axis]):
        change = gain * (vehicle.sp_vel[axis] - vel) * dt
        vehicle.vel_integral[axis] = clamp(
            vehicle.vel_integral[axis] + change, -MAX_INTEGRAL, MAX_INTEGRAL
        )


@njit
def control_one(
    vehicle: Record, params: Record, vel: np.ndarray, quat: np.ndarray, dt: float
) -> None:
    """Writes attitude and thrust set-points of one vehicle.

    Args:
        vehicle, params: Records of VEHICLE_STATUS and of the parameters.
        vel: (3,) world [m/s].
        quat: (4,) xyzw, body to world.
        dt: Length of the step [s].
    """
    horizontal, vertical = velocity_gains(params)
    integral = vehicle.vel_integral
    ax = wanted_acceleration(vehicle, 0, horizontal, vel[0]) + integral[0] + _drag(vehicle, 0)
    ay = wanted_acceleration(vehicle, 1, horizontal, vel[1]) + integral[1] + _drag(vehicle, 1)
    az = wanted_acceleration(vehicle, 2, vertical, vel[2]) + integral[2]
    vehicle.sp_acc[0], vehicle.sp_acc[1], vehicle.sp_acc[2] = ax, ay, az
    wx, wy, wz = vehicle.mass * ax, vehicle.mass * ay, vehicle.mass * (az + GRAVITY)
    fx, fy, fz = within_limits(vehicle, params, wx, wy, wz)
    # What the limits take away is not integrated.
    if fz == wz or (fz - wz) * (vehicle.sp_vel[2] - vel[2]) > 0.0:
        _follow_error(vehicle, 2, params.MPC_Z_VEL_I_ACC, vel[2], dt)
    if fx == wx and fy == wy:
        _follow_error(vehicle, 0, params.MPC_XY_VEL_I_ACC, vel[0], dt)
        _follow_error(vehicle, 1, params.MPC_XY_VEL_I_ACC, vel[1], dt)
    point_force(vehicle, fx, fy, fz, quat, dt)
    if not vehicle.fully_actuated:
        _, _, along = rotate_inverse(quat[0], quat[1], quat[2], quat[3], fx, fy, fz)
        vehicle.sp_thrust = max(along, 0.0)


@njit
def turn_with(
    vehicle: Record, quat: np.ndarray, jx: float, jy: float, jz: float, rates: np.ndarray
) -> None:
    """Writes the body rates (3,) that turn the thrust with the jerk of a trajectory [rad/s].

    Args:
        vehicle: Record of VEHICLE_STATUS, with its thrust set-point.
        quat: (4,) xyzw, body to world.
        jx, jy, jz: Jerk, world [m/s^3].
        rates: (3,) output, about the body's axes; that about z is 0.
    """
    bx, by, _ = rotate_inverse(quat[0], quat[1], quat[2], quat[3], jx, jy, jz)
    scale = vehicle.mass / max(vehicle.sp_thrust, MIN_FORCE * vehicle.mass * GRAVITY)
    if vehicle.fully_actuated:
        scale = 0.0  # it stays level
    rates[0] = min(max(-scale * by, -MAX_TURN), MAX_TURN)
    rates[1] = min(max(scale * bx, -MAX_TURN), MAX_TURN)
    rates[2] = 0.0


@fleet_kernel
def control_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    estimates: np.ndarray,
    dt: float,
    turns: bool,
    last: np.ndarray,
    jerk: np.ndarray,
    rates: np.ndarray,
) -> None:
    """Writes attitude and thrust set-points of a fleet.

    Args:
        status, parameters, estimates: (N,) records of VEHICLE_STATUS, parameters and ESTIMATE.
        dt: Length of the step [s].
        turns: Whether the jerk of the trajectory turns the vehicles.
        last: (N, 3) feed-forward of the step before, updated [m/s^2]; NaN = none.
        jerk: (N, 3) its filtered rate of change, updated [m/s^3].
        rates: (N, 3) output, see turn_with().
    """
    for i in range(len(status)):
        vehicle = status[i]
        if vehicle.vehicle_type != MULTICOPTER or vehicle.sp_kind != TRAJECTORY:
            continue
        quat = estimates[i].quat
        for axis in range(3):
            jerk[i, axis] = follow_jerk(vehicle.sp_acc[axis], last[i, axis], jerk[i, axis], dt)
            last[i, axis] = vehicle.sp_acc[axis]
        control_one(vehicle, parameters[i], estimates[i].vel, quat, dt)
        if turns:
            turn_with(vehicle, quat, jerk[i, 0], jerk[i, 1], jerk[i, 2], rates[i])


class Turn(Memory):
    """Body rates of a trajectory, which Mellinger's loops of velocity and attitude share.

    Attributes:
        rates: (N, 3) [rad/s].
        age: (N,) steps since the velocity loop wrote them.
    """

    MEMORY = ("rates", "age")

    def __init__(self, fleet: FleetModel) -> None:
        """No vehicle turns."""
        self.rates, self.age = np.zeros((fleet.n, 3)), np.zeros(fleet.n, dtype=np.int64)
        self.remember_start()

    def step(
        self,
        status: np.ndarray,
        estimator: Estimator,
        sensors: SensorBatch,
        commands: np.ndarray,
        dt: float,
    ) -> None:
        """Ends the turns of vehicles that no longer fly a trajectory."""
        self.age += 1
        self.rates[self.age > MAX_AGE] = 0.0


class Se3VelocityControl(Memory):
    """SE(3): velocity error to attitude, and to the thrust along the body's present z axis."""

    MEMORY = ("_last", "_jerk", "_rates")
    TURNS = False

    def __init__(self, fleet: FleetModel) -> None:
        """Starts without set-points."""
        self._last, self._jerk = np.full((fleet.n, 3), np.nan), np.zeros((fleet.n, 3))
        self._rates = np.zeros((fleet.n, 3))

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps the vehicles whose sp_kind is TRAJECTORY by dt [s]."""
        control_fleet(
            status,
            parameters,
            estimator.records,
            dt,
            self.TURNS,
            self._last,
            self._jerk,
            self._rates,
        )


class MellingerVelocityControl(Se3VelocityControl):
    """Mellinger and Kumar: as SE(3), with the trajectory's body rates for the attitude loop."""

    FEEDBACK = Turn
    TURNS = True
    _turn: Turn

    def take_feedback(self, feedback: Turn) -> None:
        """Takes the rates that the attitude loop reads; see interfaces.UsesFeedback."""
        self._turn, self._rates = feedback, feedback.rates
        self.remember_start()

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps the vehicles whose sp_kind is TRAJECTORY by dt [s]."""
        super().step(status, parameters, estimator, dt)
        self._turn.age[status["sp_kind"] == TRAJECTORY] = 0
