"""Differential drives: speed and yaw rate to throttle and steering, as PX4's differential_drive."""

import math

from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp
from ..navigation.trajectory import speed_to_slow

TURNING, DRIVING, STOPPED = range(3)  # values of drive_stage
_TURN_TOLERANCE = 0.05  # heading error at which a differential drive begins to drive [rad]
_FULL_SPEED_ERROR = 0.1  # largest heading error at full speed [rad]
_ZERO_SPEED_ERROR = 0.8  # smallest heading error at zero speed [rad]
_SPEED_INTEGRAL_MAX = 2.0  # limit of the differential drive's speed integral [m]
_YAW_RATE_INTEGRAL_MAX = 20.0  # limit of its yaw rate integral [rad]


@njit
def alignment_of(heading_error: float) -> float:
    """Returns the fraction of the speed, 0..1, that a heading error [rad] allows."""
    return clamp(
        (_ZERO_SPEED_ERROR - abs(heading_error)) / (_ZERO_SPEED_ERROR - _FULL_SPEED_ERROR), 0.0, 1.0
    )


@njit
def control_differential(
    vehicle: Record,
    params: Record,
    speed: float,
    speed_sp: float,
    yaw_rate: float,
    yaw_rate_sp: float,
    closed_speed: bool,
    closed_yaw_rate: bool,
    dt: float,
) -> None:
    """Writes throttle and steering of a differential drive.

    Args:
        vehicle, params: Records of VEHICLE_STATUS and of the parameters.
        speed, speed_sp: Speed and its set-point [m/s].
        yaw_rate, yaw_rate_sp: Yaw rate and its set-point, counter-clockwise [rad/s].
        closed_speed, closed_yaw_rate: Whether the loop of each is closed.
        dt: Length of the step [s].
    """
    max_speed = params.RDD_WHEEL_SPEED * params.RDD_WHEEL_RADIUS
    half_track = 0.5 * params.RDD_WHEEL_BASE
    if closed_speed:
        error = speed_sp - speed
        vehicle.speed_integral = clamp(
            vehicle.speed_integral + error * dt, -_SPEED_INTEGRAL_MAX, _SPEED_INTEGRAL_MAX
        )
        speed_sp += params.RDD_P_SPEED * error + params.RDD_I_SPEED * vehicle.speed_integral
    if closed_yaw_rate:
        error = yaw_rate_sp - yaw_rate
        vehicle.turn_integral = clamp(
            vehicle.turn_integral + error * dt, -_YAW_RATE_INTEGRAL_MAX, _YAW_RATE_INTEGRAL_MAX
        )
        yaw_rate_sp += params.RDD_P_ANG_VEL * error + params.RDD_I_ANG_VEL * vehicle.turn_integral
    turn_speed = clamp(half_track * yaw_rate_sp, -max_speed, max_speed)
    forward_speed = clamp(
        speed_sp, abs(turn_speed) - max_speed, max_speed - abs(turn_speed)
    )  # turning has priority
    vehicle.throttle = forward_speed / max_speed if max_speed > 0.0 else 0.0
    vehicle.steering = -turn_speed / max_speed if max_speed > 0.0 else 0.0


@njit
def drive_to_place(
    vehicle: Record,
    params: Record,
    distance: float,
    heading_error: float,
    speed: float,
    yaw_rate: float,
    dt: float,
) -> None:
    """Turns a differential drive to the target, drives there, and stops if it is the last one."""
    max_speed = params.RDD_WHEEL_SPEED * params.RDD_WHEEL_RADIUS
    if not math.isfinite(vehicle.following[0]) and distance <= params.NAV_ACC_RAD:
        vehicle.drive_stage = STOPPED
    speed_sp, yaw_rate_sp = 0.0, params.RDD_P_HEADING * heading_error + heading_error
    if vehicle.drive_stage == STOPPED:
        vehicle.drive_speed = yaw_rate_sp = 0.0
    elif vehicle.drive_stage == TURNING:
        vehicle.drive_speed = 0.0
        if abs(heading_error) < _TURN_TOLERANCE:
            vehicle.drive_stage = DRIVING
    else:
        speed_limit = min(
            max_speed, speed_to_slow(distance, 0.0, params.RDD_MAX_ACCEL, params.RDD_MAX_JERK)
        )
        if vehicle.target_speed > 0.0:
            speed_limit = min(speed_limit, vehicle.target_speed)
        vehicle.drive_speed = min(speed_limit, vehicle.drive_speed + params.RDD_MAX_ACCEL * dt)
        alignment = alignment_of(heading_error)
        speed_sp = alignment * vehicle.drive_speed
    max_yaw_rate = max_speed / max(0.5 * params.RDD_WHEEL_BASE, 1e-6)
    control_differential(
        vehicle,
        params,
        speed,
        speed_sp,
        yaw_rate,
        clamp(yaw_rate_sp, -max_yaw_rate, max_yaw_rate),
        True,
        True,
        dt,
    )
