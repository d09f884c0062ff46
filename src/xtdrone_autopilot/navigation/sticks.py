"""Set-points of a multicopter in the modes that a pilot flies, as in PX4's FlightTasks."""

import math

import numpy as np

from xtdrone_core.modes import POSITION_SLOW
from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.stick_curves import super_exponential

from ..control.vector import clamp, limit_norm2, quat_from_axes, wrap_pi
from .trajectory import advance, clear_set_points, copy_trajectory

STICK_DEADZONE = 0.1


@njit
def without_deadzone(x: float) -> float:
    """Returns a stick without its dead zone; its ends still give 1."""
    if abs(x) <= STICK_DEADZONE:
        return 0.0
    return (x - math.copysign(STICK_DEADZONE, x)) / (1.0 - STICK_DEADZONE)


@njit
def _sticks_yaw(vehicle: Record, params: Record) -> None:
    vehicle.sp_yaw = math.nan
    vehicle.sp_yaw_rate = -without_deadzone(vehicle.stick_clockwise) * math.radians(
        params.MPC_MAN_Y_MAX
    )


@njit
def fly_position(
    vehicle: Record, params: Record, pos: np.ndarray, vel: np.ndarray, yaw: float, dt: float
) -> None:
    """POSCTL: sticks are velocities in the heading frame; centred, it holds its position."""
    forward, right, up = (
        without_deadzone(vehicle.stick_forward),
        without_deadzone(vehicle.stick_right),
        without_deadzone(vehicle.stick_up),
    )
    _sticks_yaw(vehicle, params)
    fast, climb, sink = params.MPC_VEL_MANUAL, params.MPC_Z_VEL_MAX_UP, params.MPC_Z_VEL_MAX_DN
    if vehicle.nav_state == POSITION_SLOW:
        fast = min(fast, params.MC_SLOW_DEF_HVEL)
        climb, sink = min(climb, params.MC_SLOW_DEF_VVEL), min(sink, params.MC_SLOW_DEF_VVEL)
        maximum = math.radians(params.MC_SLOW_DEF_YAWR)
        vehicle.sp_yaw_rate = clamp(vehicle.sp_yaw_rate, -maximum, maximum)
    wx = (forward * math.cos(yaw) + right * math.sin(yaw)) * fast
    wy = (forward * math.sin(yaw) - right * math.cos(yaw)) * fast
    wz = up * (climb if up > 0.0 else sink)
    advance(vehicle, 0, 2, (wx, wy, 0.0), params.MPC_ACC_HOR, 0.0, params.MPC_JERK_AUTO, dt)
    for k in range(2):
        vehicle.smooth_pos[k] = clamp(vehicle.smooth_pos[k], pos[k] - 2.0, pos[k] + 2.0)
    _height_by_stick(vehicle, params, pos, wz, dt)
    copy_trajectory(vehicle, 0, 3)


@njit
def _height_by_stick(
    vehicle: Record, params: Record, pos: np.ndarray, wz: float, dt: float
) -> None:
    advance(vehicle, 2, 3, (0.0, 0.0, wz), 0.0, params.MPC_ACC_UP_MAX, params.MPC_JERK_AUTO, dt)
    vehicle.smooth_pos[2] = clamp(vehicle.smooth_pos[2], pos[2] - 1.0, pos[2] + 1.0)


@njit
def fly_tilt(vehicle: Record, params: Record, yaw: float, dt: float) -> None:
    """Attitude from the sticks (STABILIZED, MANUAL): tilt and yaw rate."""
    tilt = math.tan(math.radians(params.MPC_MAN_TILT_MAX))
    forward, right = limit_norm2(vehicle.stick_forward * tilt, vehicle.stick_right * tilt, tilt)
    if not math.isfinite(vehicle.target_yaw):
        vehicle.target_yaw = yaw
    _sticks_yaw(vehicle, params)
    vehicle.target_yaw = wrap_pi(vehicle.target_yaw + vehicle.sp_yaw_rate * dt)
    zx = forward * math.cos(yaw) + right * math.sin(yaw)
    zy = forward * math.sin(yaw) - right * math.cos(yaw)
    norm = math.sqrt(zx * zx + zy * zy + 1.0)
    quat = quat_from_axes(zx / norm, zy / norm, 1.0 / norm, vehicle.target_yaw)
    for k in range(4):
        vehicle.sp_quat[k] = quat[k]


@njit
def fly_rates(vehicle: Record, params: Record) -> None:
    """ACRO: body rates, by PX4's curve of stick to rate."""
    expo, more = params.MC_ACRO_EXPO, params.MC_ACRO_SUPEXPO
    vehicle.sp_rates[0] = super_exponential(vehicle.stick_right, expo, more) * math.radians(
        params.MC_ACRO_R_MAX
    )
    vehicle.sp_rates[1] = super_exponential(vehicle.stick_forward, expo, more) * math.radians(
        params.MC_ACRO_P_MAX
    )
    vehicle.sp_rates[2] = -super_exponential(
        vehicle.stick_clockwise, params.MC_ACRO_EXPO_Y, params.MC_ACRO_SUPEXPOY
    ) * math.radians(params.MC_ACRO_Y_MAX)


@njit
def thrust_of_stick(vehicle: Record) -> float:
    """Throttle 0..1 with the hover thrust at the middle of the stick [N]."""
    hover = vehicle.mass * GRAVITY
    if vehicle.stick_up < 0.0:
        return hover * (1.0 + vehicle.stick_up)
    return hover + vehicle.stick_up * (vehicle.thrust_max - hover)


@njit
def fly_height(vehicle: Record, params: Record, pos: np.ndarray, yaw: float, dt: float) -> None:
    """Flies ALTCTL: sticks are tilt, climb rate and yaw rate.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        params: Record of its parameters.
        pos: (3,) estimated position [m].
        yaw: Heading [rad].
        dt: Length of the step [s].
    """
    up = without_deadzone(vehicle.stick_up)
    clear_set_points(vehicle)
    climb = up * (params.MPC_Z_VEL_MAX_UP if up > 0.0 else params.MPC_Z_VEL_MAX_DN)
    _height_by_stick(vehicle, params, pos, climb, dt)
    copy_trajectory(vehicle, 2, 3)
    vehicle.on_trajectory = False  # not horizontally
    _sticks_yaw(vehicle, params)
    tilt = GRAVITY * math.tan(math.radians(params.MPC_MAN_TILT_MAX))
    ax, ay = limit_norm2(vehicle.stick_forward * tilt, vehicle.stick_right * tilt, tilt)
    vehicle.sp_acc[0] = ax * math.cos(yaw) + ay * math.sin(yaw)
    vehicle.sp_acc[1] = ax * math.sin(yaw) - ay * math.cos(yaw)
