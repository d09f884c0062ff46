"""Trajectory of a multicopter in AUTO modes: to, around or down at its target.

As PX4's FlightTaskAuto, FlightTaskOrbit and navigator.
"""

import math

import numpy as np

from xtdrone_core.modes import Mode
from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp, wrap_pi
from ..state.clock import LOOP_US
from ..state.vehicle_status import (
    EVENT_TARGET_REACHED,
    NEVER,
    STAGE_RAMP,
    TARGET_LAND,
    TARGET_ORBIT,
    TARGET_TAKEOFF,
    WATCH_HEIGHT,
    WATCH_NOTHING,
    WATCH_TIME,
)
from .heading import face, turn_to
from .line import fly_line, follow_velocity
from .trajectory import clear_set_points, speed_to_slow, start_trajectory

FOLLOW_TARGET = int(Mode.FOLLOW_TARGET)
TASK_US = 20_000  # mean period of the trajectory of AUTO modes, as in PX4 [us]
ALONG_ORBIT = math.inf  # target_yaw of an orbit: along the circle; NaN is to its centre
REST_SINK = 0.7  # the trajectory of a vehicle on the ground begins at this descent rate [m/s]


@njit
def _orbit(vehicle: Record, params: Record, pos: np.ndarray, dt: float) -> None:
    """Flies round centre, nose to it or as target_yaw says, at the height of target."""
    acc, jerk = params.MPC_ACC_HOR, params.MPC_JERK_AUTO
    radius = max(abs(vehicle.orbit_radius), 0.5)
    turn = -1.0 if vehicle.orbit_radius > 0.0 else 1.0
    dx, dy = vehicle.smooth_pos[0] - vehicle.centre[0], vehicle.smooth_pos[1] - vehicle.centre[1]
    before = math.atan2(dy, dx)
    out = math.sqrt(dx * dx + dy * dy)
    cruise = min(
        vehicle.target_speed if vehicle.target_speed > 0.0 else params.MPC_XY_CRUISE,
        params.MPC_XY_VEL_MAX,
    )
    # Half the acceleration and the jerk are left for what the circle itself does not need.
    speed = min(
        cruise, math.sqrt(0.5 * acc * radius), (0.5 * jerk * radius * radius) ** (1.0 / 3.0)
    )
    # A quarter of a second ahead, after which the trajectory answers.
    along = before + turn * 0.25 * speed / radius
    inwards = clamp(radius - out, -1.0, 1.0)
    wx = -turn * math.sin(along) * speed + math.cos(along) * inwards
    wy = turn * math.cos(along) * speed + math.sin(along) * inwards
    dz = vehicle.target[2] - vehicle.smooth_pos[2]
    wz = math.copysign(speed_to_slow(abs(dz), 0.0, acc, jerk), dz)
    follow_velocity(
        vehicle,
        params,
        pos,
        wx,
        wy,
        wz,
        params.MPC_Z_V_AUTO_UP if wz > 0.0 else params.MPC_Z_V_AUTO_DN,
        params.MPC_ACC_UP_MAX if wz > 0.0 else params.MPC_ACC_DOWN_MAX,
        dt,
    )
    yaw = math.atan2(vehicle.centre[1] - pos[1], vehicle.centre[0] - pos[0])
    if vehicle.target_yaw == ALONG_ORBIT:
        yaw -= turn * 0.5 * math.pi
    elif math.isfinite(vehicle.target_yaw):
        yaw = vehicle.target_yaw
    turn_to(vehicle, params, yaw, dt)
    after = math.atan2(
        vehicle.smooth_pos[1] - vehicle.centre[1], vehicle.smooth_pos[0] - vehicle.centre[0]
    )
    vehicle.orbit_left -= turn * wrap_pi(after - before)
    vehicle.target[0] = vehicle.smooth_pos[0]
    vehicle.target[1] = vehicle.smooth_pos[1]
    if vehicle.watch != WATCH_NOTHING and vehicle.orbit_left <= 0.0:
        vehicle.watch = WATCH_NOTHING
        vehicle.events |= EVENT_TARGET_REACHED


@njit
def descend(vehicle: Record, params: Record) -> None:
    """Descends level, in AUTO.LAND without a position."""
    clear_set_points(vehicle)
    vehicle.sp_acc[0] = 0.0
    vehicle.sp_acc[1] = 0.0
    vehicle.sp_vel[2] = -params.MPC_LAND_SPEED
    vehicle.sp_yaw_rate = 0.0
    vehicle.takeoff_requested = False


@njit
def move_to_target(vehicle: Record, params: Record, pos: np.ndarray, dt: float) -> None:
    """Moves the trajectory of AUTO modes on: to, around or down at the target, by its type."""
    if vehicle.stage < STAGE_RAMP:
        start_trajectory(vehicle, pos, -REST_SINK)
    if vehicle.target_type == TARGET_ORBIT:
        _orbit(vehicle, params, pos, dt)
        return
    if vehicle.mode == FOLLOW_TARGET:
        for k in range(3):
            vehicle.target[k] += vehicle.target_vel[k] * dt
            vehicle.centre[k] += vehicle.target_vel[k] * dt
        vehicle.target_yaw = math.atan2(vehicle.centre[1] - pos[1], vehicle.centre[0] - pos[0])
    elif (
        math.isfinite(vehicle.roi[0])
        and not params.MIS_MNT_YAW_CTL
        and vehicle.target_type not in (TARGET_TAKEOFF, TARGET_LAND)
    ):
        dx, dy = vehicle.roi[0] - pos[0], vehicle.roi[1] - pos[1]
        if math.hypot(dx, dy) > params.NAV_ACC_RAD:
            vehicle.target_yaw = math.atan2(dy, dx)
    fly_line(vehicle, params, pos, dt)
    face(vehicle, params, pos, dt)


@njit
def watch_target(vehicle: Record, params: Record, t_us: int, pos: np.ndarray, yaw: float) -> None:
    """Raises an event where the target is reached, faced and held for long enough."""
    if vehicle.watch == WATCH_TIME:
        vehicle.reached_t = min(vehicle.reached_t, t_us)
    elif not vehicle.landed and vehicle.reached_t == NEVER and _at_target(vehicle, pos):
        vehicle.reached_t = t_us
    if vehicle.reached_t == NEVER:
        return
    if not vehicle.faced:
        vehicle.faced = (
            vehicle.watch == WATCH_TIME
            or not math.isfinite(vehicle.target_yaw)
            or abs(wrap_pi(vehicle.target_yaw - yaw)) < math.radians(params.MIS_YAW_ERR)
        )
    if vehicle.faced and t_us - vehicle.reached_t >= vehicle.hold_s * 1e6:
        vehicle.watch = WATCH_NOTHING
        vehicle.events |= EVENT_TARGET_REACHED


@njit
def _at_target(vehicle: Record, pos: np.ndarray) -> bool:
    if vehicle.watch == WATCH_HEIGHT:
        return pos[2] > vehicle.target[2] - vehicle.reach_height
    return (
        math.hypot(vehicle.target[0] - pos[0], vehicle.target[1] - pos[1]) <= vehicle.reach
        and abs(pos[2] - vehicle.target[2]) <= vehicle.reach_height
    )


@njit
def trajectory_step(age_us: int) -> float:
    """Time since the trajectory of AUTO modes last went on [s]; 0 = it does not go on now.

    It goes on in the first run of the loops after each multiple of TASK_US, as in PX4: by 16 and
    by 24 ms in turn.
    """
    if age_us % TASK_US >= LOOP_US:
        return 0.0
    before = (age_us // TASK_US - 1) * TASK_US
    last = (before + LOOP_US - 1) // LOOP_US * LOOP_US
    return (age_us - last) * 1e-6
