"""The force for a wanted acceleration: what velocity loops that know the vehicle's mass share."""

import math

import numpy as np

from xtdrone_autopilot.control.vector import clamp, limit_norm2
from xtdrone_autopilot.control.velocity import point_thrust, yaw_set_point
from xtdrone_autopilot.state.vehicle_status import STAGE_FLIGHT
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY

# Gains where the parameters have PX4's defaults, which stand behind them [1/s]. The horizontal one
# is higher than PX4's, whose integral part and damping are not needed here.
HORIZONTAL_GAIN, VERTICAL_GAIN = 3.5, 5.0
PX4_HORIZONTAL_GAIN, PX4_VERTICAL_GAIN = 1.8, 4.0
MIN_LIFT = 0.05  # smallest vertical force that is asked for, over the weight
JERK_FILTER_S = 0.03  # time constant of the feed-forward's rate of change [s]
AGENT_STEPS = 5.0  # set-points may come this many times slower than the loop steps
MAX_JERK = 40.0  # a faster change is a jump from one set-point to another [m/s^3]


@njit
def velocity_gains(params: Record) -> tuple[float, float]:
    """Returns the horizontal and the vertical gain, by the parameters [1/s]."""
    return (
        HORIZONTAL_GAIN * (params.MPC_XY_VEL_P_ACC / PX4_HORIZONTAL_GAIN),
        VERTICAL_GAIN * (params.MPC_Z_VEL_P_ACC / PX4_VERTICAL_GAIN),
    )


@njit
def wanted_acceleration(vehicle: Record, axis: int, gain: float, vel: float) -> float:
    """Returns the acceleration set-point of an axis [m/s^2]; NaN set-points count as none."""
    wanted = vehicle.sp_acc[axis] if math.isfinite(vehicle.sp_acc[axis]) else 0.0
    if math.isfinite(vehicle.sp_vel[axis]):
        wanted += gain * (vehicle.sp_vel[axis] - vel)
    return wanted


@njit
def follow_jerk(acceleration: float, last: float, jerk: float, dt: float) -> float:
    """Returns the filtered rate of change of a feed-forward of acceleration [m/s^3].

    Args:
        acceleration: The feed-forward, NaN = none [m/s^2].
        last: That of the step before [m/s^2].
        jerk: The rate of change of the step before [m/s^3].
        dt: Length of the step [s].
    """
    change = (acceleration - last) / dt
    if not abs(change) <= MAX_JERK * AGENT_STEPS:
        change = jerk if math.isfinite(acceleration) else 0.0
    return jerk + dt / (JERK_FILTER_S + dt) * (change - jerk)


@njit
def limit_force(
    fx: float, fy: float, fz: float, lowest: float, highest: float, weight: float, tan_tilt: float
) -> tuple[float, float, float]:
    """Returns a force within limits of thrust and tilt: the vertical part goes first.

    Args:
        fx, fy, fz: World [N].
        lowest, highest: Of the vertical part, and largest of all [N].
        weight: Vertical part below which the tilt does not depend on it; 0 = none [N].
        tan_tilt: Tangent of the largest tilt.
    """
    fz = clamp(fz, lowest, highest)
    fx, fy = limit_norm2(fx, fy, max(weight, fz) * tan_tilt)
    fx, fy = limit_norm2(fx, fy, math.sqrt(max(highest * highest - fz * fz, 0.0)))
    return fx, fy, fz


@njit
def within_limits(
    vehicle: Record, params: Record, fx: float, fy: float, fz: float
) -> tuple[float, float, float]:
    """Returns a force within the limits of a vehicle, see limit_force() [N]."""
    lowest = MIN_LIFT * vehicle.mass * GRAVITY if vehicle.stage == STAGE_FLIGHT else 1e-3
    highest = params.MPC_THR_MAX * vehicle.thrust_max
    weight = vehicle.mass * GRAVITY if params.MPC_ACC_DECOUPLE != 0 else 0.0
    return limit_force(fx, fy, fz, lowest, highest, weight, math.tan(vehicle.tilt_limit))


@njit
def point_force(
    vehicle: Record, fx: float, fy: float, fz: float, quat: np.ndarray, dt: float
) -> None:
    """Writes attitude and thrust set-points for a force, world [N]; see point_thrust().

    Args:
        vehicle: Record of VEHICLE_STATUS.
        fx, fy, fz: The force.
        quat: (4,) attitude xyzw, body to world.
        dt: Length of the step [s].
    """
    newtons = math.sqrt(fx * fx + fy * fy + fz * fz)
    yaw = yaw_set_point(vehicle, quat, dt)
    point_thrust(vehicle, fx / newtons, fy / newtons, fz / newtons, newtons, yaw, quat)
