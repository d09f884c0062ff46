"""Set-points of each flight mode, and take-off and landing detection.

One compiled pass over the fleet at each step: it turns the mode, the sticks or
the offboard set-point into sp_* of the status record, follows jerk-limited trajectories
in AUTO modes, detects take-off and landing, and raises events. The commander
decides on mode changes.
"""

import math

import numpy as np
import numpy.typing as npt

from xtdrone_core.modes import Mode
from xtdrone_core.snapshot import Memory
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate

from ..control.vector import clamp, limit_norm2, quat_from_axes, thrust_newtons, wrap_pi, yaw_of
from ..interfaces import Estimator
from ..now import Now
from ..parameters.store import ParameterStore
from ..vehicle_status import (
    ACTUATORS,
    ATTITUDE,
    EVENT_DISARM_LANDED,
    EVENT_DISARM_PREFLIGHT,
    EVENT_FAILSAFE_DELAY_OVER,
    EVENT_LANDED,
    EVENT_OFFBOARD_LOST,
    EVENT_TAKEN_OFF,
    EVENT_TAKEOFF_DONE,
    EVENT_TARGET_REACHED,
    NEW_MODE,
    NO_SET_POINT,
    RATES,
    TARGET_LAND,
    TARGET_ORBIT,
    TARGET_POSITION,
    TARGET_TAKEOFF,
    TRAJECTORY,
)

MANUAL, STABILIZED, ACRO = int(Mode.MANUAL), int(Mode.STABILIZED), int(Mode.ACRO)
ALTCTL, POSCTL, OFFBOARD = int(Mode.ALTCTL), int(Mode.POSCTL), int(Mode.OFFBOARD)
TAKEOFF, LOITER, RTL, LAND = int(Mode.TAKEOFF), int(Mode.LOITER), int(Mode.RTL), int(Mode.LAND)
FOLLOW_TARGET = int(Mode.FOLLOW_TARGET)

STICK_DEADZONE = 0.1
ACC_FILTER_S = 0.03  # time constant of the acceleration that damps the velocity loop [s]
RAMP_S = 0.5  # rotors go from idle to hover thrust in this time at take-off [s]
LAND_SPEED_STILL = 0.25  # slower than this it may have landed [m/s]
LAND_DETECT_S = 0.8  # for this long without descent though it should descend [s]
TILT_LIMIT_RATE = 0.2  # at which the largest tilt grows after take-off, as PX4's [rad/s]
TAKEN_OFF_HEIGHT = 0.15  # above where it stood, it flies [m]


@njit
def _stick(x):
    """A stick with its dead zone taken out, still reaching 1."""
    if abs(x) <= STICK_DEADZONE:
        return 0.0
    return (x - math.copysign(STICK_DEADZONE, x)) / (1.0 - STICK_DEADZONE)


@njit
def _free(v):
    """No set-point on any axis."""
    for k in range(3):
        v.sp_pos[k] = math.nan
        v.sp_vel[k] = math.nan
        v.sp_acc[k] = math.nan
    v.sp_yaw = math.nan
    v.sp_yaw_rate = math.nan


@njit
def _begin(v, pos, vel, yaw):
    """Entry of a mode: the smooth trajectory goes on, or starts at the present motion."""
    goes_on = v.on_trajectory and not v.landed
    for k in range(3):
        if not goes_on:
            v.smooth_pos[k] = pos[k]
            v.smooth_vel[k] = 0.0 if v.landed else vel[k]
            v.smooth_acc[k] = 0.0
        v.target[k] = v.smooth_pos[k]
        v.target_vel[k] = 0.0
    v.target_yaw = yaw
    v.free_yaw = math.nan
    v.target_speed = math.nan
    v.climb = math.nan
    v.target_type = TARGET_POSITION
    v.watch = False
    v.pass_speed = 0.0


@njit
def _stop_ahead(v, q):
    """Moves the target to where the vehicle can come to rest."""
    vel, acc = v.smooth_vel, v.smooth_acc
    speed = math.sqrt(vel[0] * vel[0] + vel[1] * vel[1])
    if speed > 0.3:
        along = stopping_distance(speed, (acc[0] * vel[0] + acc[1] * vel[1]) / speed, q.MPC_ACC_HOR,
                            q.MPC_JERK_AUTO) / speed
        v.target[0] += vel[0] * along
        v.target[1] += vel[1] * along
    if abs(vel[2]) > 0.3:
        along = stopping_distance(abs(vel[2]), acc[2] * math.copysign(1.0, vel[2]), q.MPC_ACC_HOR,
                                  q.MPC_JERK_AUTO)
        v.target[2] += math.copysign(along, vel[2])


@njit
def stopping_distance(speed: float, gain: float, acc: float, jerk: float) -> float:
    """Distance in which a motion comes to rest, with some to spare [m].

    Its acceleration first goes to nothing under the jerk, then it brakes.

    Args:
        speed: [m/s].
        gain: Acceleration along the motion now; only more than none counts [m/s^2].
        acc: Of the braking [m/s^2].
        jerk: [m/s^3].
    """
    gain = max(gain, 0.0)
    time = gain / jerk
    top = speed + 0.5 * gain * time
    return speed * time + gain * time * time / 3.0 + top * (top / (2.0 * acc) + acc / jerk)


@njit
def speed_to_stop(distance: float, acc: float, jerk: float) -> float:
    """Largest speed from which a jerk-limited braking ends within a distance [m/s]."""
    b = 4.0 * acc * acc / jerk
    return 0.5 * (-b + math.sqrt(b * b + 8.0 * acc * distance))


@njit
def distance_to_slow(speed: float, acc: float, jerk: float) -> float:
    """Distance of a jerk-limited braking from a speed to rest; inverse of speed_to_stop() [m]."""
    return speed * (speed + 4.0 * acc * acc / jerk) / (2.0 * acc)


@njit
def _advance(v, q, k_first, k_last, wx, wy, wz, acc, dt):
    """One step of the smooth trajectory to a velocity (wx, wy, wz), acceleration and jerk limited.

    The jerk of each axis is at most MPC_JERK_AUTO, as in PX4.
    """
    ax, ay, az = wx - v.smooth_vel[0], wy - v.smooth_vel[1], wz - v.smooth_vel[2]
    # Near the velocity wanted no more acceleration than the jerk can take away in time.
    side = math.sqrt(ax * ax + ay * ay)
    ax, ay = limit_norm2(4.0 * ax, 4.0 * ay, min(acc, math.sqrt(2.0 * q.MPC_JERK_AUTO * side)))
    top = min(acc, math.sqrt(2.0 * q.MPC_JERK_AUTO * abs(az)))
    az = clamp(4.0 * az, -top, top)
    jerk = q.MPC_JERK_AUTO * dt
    for k in range(k_first, k_last):
        wanted = ax if k == 0 else (ay if k == 1 else az)
        v.smooth_acc[k] += clamp(wanted - v.smooth_acc[k], -jerk, jerk)
        v.smooth_vel[k] += v.smooth_acc[k] * dt
        v.smooth_pos[k] += v.smooth_vel[k] * dt
        v.sp_pos[k] = v.smooth_pos[k]
        v.sp_vel[k] = v.smooth_vel[k]
        v.sp_acc[k] = v.smooth_acc[k]


@njit
def _fly_to_target(v, q, pos, dt):
    """Follows the smooth trajectory to v.target, or to v.climb vertically where that is finite."""
    acc, jerk = q.MPC_ACC_HOR, q.MPC_JERK_AUTO
    dx, dy = v.target[0] - v.smooth_pos[0], v.target[1] - v.smooth_pos[1]
    distance = math.sqrt(dx * dx + dy * dy)
    speed = min(_cruise(v, q), speed_to_stop(distance + distance_to_slow(v.pass_speed, acc, jerk),
                                             acc, jerk))
    wx, wy = v.target_vel[0], v.target_vel[1]
    if distance > 1e-6:
        wx += dx / distance * speed
        wy += dy / distance * speed
    if math.isfinite(v.climb):
        wz = v.climb
    else:
        dz = v.target[2] - v.smooth_pos[2]
        wz = math.copysign(speed_to_stop(abs(dz), acc, jerk), dz)
        slow = v.mode == TAKEOFF or v.target_type == TARGET_TAKEOFF
        wz = clamp(wz, -q.MPC_Z_VEL_MAX_DN, q.MPC_TKO_SPEED if slow else q.MPC_Z_VEL_MAX_UP)
    _follow_trajectory(v, q, pos, wx, wy, wz, acc, dt)


@njit
def _cruise(v, q):
    """Horizontal speed of AUTO modes [m/s]."""
    wanted = v.target_speed if math.isfinite(v.target_speed) else q.MPC_XY_CRUISE
    return min(wanted, q.MPC_XY_VEL_MAX)


@njit
def _follow_trajectory(v, q, pos, wx, wy, wz, acc, dt):
    """One step of the smooth trajectory at a velocity, and of the heading to target_yaw."""
    _advance(v, q, 0, 3, wx, wy, wz, acc, dt)
    v.on_trajectory = True
    # The trajectory may not run away from a vehicle that cannot follow.
    for k in range(3):
        v.smooth_pos[k] = clamp(v.smooth_pos[k], pos[k] - 3.0, pos[k] + 3.0)
    if math.isfinite(v.climb):
        v.sp_pos[2] = math.nan
        v.smooth_pos[2] = pos[2]
    limit = math.radians(q.MPC_YAWRAUTO_MAX) * dt
    v.sp_yaw = wrap_pi(v.sp_yaw + clamp(wrap_pi(v.target_yaw - v.sp_yaw), -limit, limit))
    v.sp_yaw_rate = math.nan


@njit
def _land_speed(q, height):
    """Descent rate of a landing at a height above home, slowing down as PX4 does [m/s]."""
    top, low = q.MPC_LAND_ALT1, q.MPC_LAND_ALT2
    share = clamp((height - low) / max(top - low, 0.1), 0.0, 1.0)
    return q.MPC_LAND_SPEED + share * max(q.MPC_Z_VEL_MAX_DN - q.MPC_LAND_SPEED, 0.0)


@njit
def _takeoff(v, q, pos, dt):
    _fly_to_target(v, q, pos, dt)
    if abs(pos[2] - v.target[2]) < q.NAV_MC_ALT_RAD * 0.5:
        v.events |= EVENT_TAKEOFF_DONE


@njit
def _land(v, q, pos, dt):
    if v.descend:
        _free(v)
        v.sp_acc[0] = 0.0
        v.sp_acc[1] = 0.0
        v.sp_vel[2] = -q.MPC_LAND_SPEED
        v.sp_yaw_rate = 0.0
        return
    v.climb = -_land_speed(q, pos[2] - v.home[2])
    _fly_to_target(v, q, pos, dt)


@njit
def _orbit(v, q, pos, dt):
    """Flies round v.centre, nose to it, at the height of v.target."""
    acc, jerk = q.MPC_ACC_HOR, q.MPC_JERK_AUTO
    radius = max(abs(v.orbit_radius), 0.5)
    turn = -1.0 if v.orbit_radius > 0.0 else 1.0
    dx, dy = v.smooth_pos[0] - v.centre[0], v.smooth_pos[1] - v.centre[1]
    before = math.atan2(dy, dx)
    out = math.sqrt(dx * dx + dy * dy)
    # Half the acceleration and the jerk are left for what the circle itself does not need.
    speed = min(_cruise(v, q), math.sqrt(0.5 * acc * radius),
                (0.5 * jerk * radius * radius) ** (1.0 / 3.0))
    # A quarter of a second ahead, after which the trajectory answers.
    along = before + turn * 0.25 * speed / radius
    inwards = clamp(radius - out, -1.0, 1.0)
    wx = -turn * math.sin(along) * speed + math.cos(along) * inwards
    wy = turn * math.cos(along) * speed + math.sin(along) * inwards
    dz = v.target[2] - v.smooth_pos[2]
    wz = clamp(math.copysign(speed_to_stop(abs(dz), acc, jerk), dz), -q.MPC_Z_VEL_MAX_DN,
               q.MPC_Z_VEL_MAX_UP)
    v.target_yaw = math.atan2(v.centre[1] - pos[1], v.centre[0] - pos[0])
    _follow_trajectory(v, q, pos, wx, wy, wz, acc, dt)
    after = math.atan2(v.smooth_pos[1] - v.centre[1], v.smooth_pos[0] - v.centre[0])
    v.orbit_left -= turn * wrap_pi(after - before)
    v.target[0] = v.smooth_pos[0]
    v.target[1] = v.smooth_pos[1]
    if v.watch and v.orbit_left <= 0.0:
        v.watch = False
        v.events |= EVENT_TARGET_REACHED


@njit
def _task(v, q, pos, yaw, dt):
    """AUTO.MISSION and AUTO.LOITER: flies to or around the target, by its type."""
    if v.target_type == TARGET_LAND:
        _land(v, q, pos, dt)
    elif v.target_type == TARGET_ORBIT:
        _orbit(v, q, pos, dt)
    else:
        _fly_to_target(v, q, pos, dt)
        if v.watch and _reached(v, q, pos, yaw):
            v.watch = False
            v.events |= EVENT_TARGET_REACHED


@njit
def _reached(v, q, pos, yaw):
    if abs(pos[2] - v.target[2]) > q.NAV_MC_ALT_RAD:
        return False
    if math.isfinite(v.accept_yaw) and abs(wrap_pi(yaw - v.target_yaw)) > v.accept_yaw:
        return False
    if v.target_type == TARGET_TAKEOFF:
        return True
    dx, dy = v.target[0] - pos[0], v.target[1] - pos[1]
    return dx * dx + dy * dy <= v.accept * v.accept


@njit
def _follow(v, q, pos, dt):
    """AUTO.FOLLOW_TARGET: keeps a position relative to a moving target, and faces it."""
    for k in range(3):
        v.target[k] += v.target_vel[k] * dt
        v.centre[k] += v.target_vel[k] * dt
    v.target_yaw = math.atan2(v.centre[1] - pos[1], v.centre[0] - pos[0])
    _fly_to_target(v, q, pos, dt)


@njit
def _return_height(q, distance):
    """Minimum return height above the destination, by PX4's return cone [m]."""
    if q.RTL_CONE_ANG <= 0:
        return q.RTL_RETURN_ALT
    if distance <= q.NAV_ACC_RAD:
        return 2.0 * distance
    height = q.RTL_RETURN_ALT
    if distance <= q.RTL_MIN_DIST:
        height = min(height, distance / math.tan(math.radians(min(q.RTL_CONE_ANG, 89.0))))
    return max(height, 2.0 * q.NAV_ACC_RAD)


@njit
def _return(v, q, pos, yaw, t_us, dt):
    """RTL: climb, fly home, come down, wait, land."""
    dx, dy = v.rtl_destination[0] - pos[0], v.rtl_destination[1] - pos[1]
    distance = math.sqrt(dx * dx + dy * dy)
    if v.mode_stage == 0:
        v.target[2] = max(pos[2], v.rtl_destination[2] + _return_height(q, distance))
        v.mode_stage = 1
    if v.mode_stage == 1 and abs(pos[2] - v.target[2]) < q.NAV_MC_ALT_RAD:
        v.mode_stage = 2
        v.target[0] = v.rtl_destination[0]
        v.target[1] = v.rtl_destination[1]
        if distance > 1.0:
            v.target_yaw = math.atan2(dy, dx)
    if v.mode_stage == 2 and distance < 0.5:
        v.mode_stage = 3
        v.target[2] = min(v.target[2], v.rtl_destination[2] + q.RTL_DESCEND_ALT)
        v.target_yaw = v.home_yaw
    if v.mode_stage == 3 and abs(pos[2] - v.target[2]) < q.NAV_MC_ALT_RAD:
        v.mode_stage = 4
        v.mode_t = t_us
    if v.mode_stage == 4 and q.RTL_LAND_DELAY >= 0.0 and t_us - v.mode_t >= q.RTL_LAND_DELAY * 1e6:
        v.mode_stage = 5
    if v.mode_stage == 5:
        _land(v, q, pos, dt)
    else:
        _fly_to_target(v, q, pos, dt)


@njit
def _sticks_yaw(v, q):
    v.sp_yaw = math.nan
    v.sp_yaw_rate = -_stick(v.stick_clockwise) * math.radians(q.MPC_MAN_Y_MAX)


@njit
def _position_by_sticks(v, q, pos, vel, yaw, dt):
    """POSCTL: sticks are velocities in the heading frame; centred, it holds its position."""
    forward, right, up = _stick(v.stick_forward), _stick(v.stick_right), _stick(v.stick_up)
    _sticks_yaw(v, q)
    fast = q.MPC_VEL_MANUAL
    wx = (forward * math.cos(yaw) + right * math.sin(yaw)) * fast
    wy = (forward * math.sin(yaw) - right * math.cos(yaw)) * fast
    wz = up * (q.MPC_Z_VEL_MAX_UP if up > 0.0 else q.MPC_Z_VEL_MAX_DN)
    moving = abs(v.smooth_vel[0]) + abs(v.smooth_vel[1]) > 0.3
    if forward != 0.0 or right != 0.0 or moving:
        _advance(v, q, 0, 2, wx, wy, 0.0, q.MPC_ACC_HOR, dt)
        for k in range(2):
            v.smooth_pos[k] = clamp(v.smooth_pos[k], pos[k] - 2.0, pos[k] + 2.0)
    else:
        _advance(v, q, 0, 2, 0.0, 0.0, 0.0, q.MPC_ACC_HOR, dt)
    _height_by_stick(v, q, pos, wz, dt)
    v.on_trajectory = True


@njit
def _height_by_stick(v, q, pos, wz, dt):
    _advance(v, q, 2, 3, 0.0, 0.0, wz, q.MPC_ACC_UP_MAX, dt)
    v.smooth_pos[2] = clamp(v.smooth_pos[2], pos[2] - 1.0, pos[2] + 1.0)


@njit
def _tilt_by_sticks(v, q, yaw, dt):
    """Attitude from the sticks (STABILIZED, MANUAL): tilt and yaw rate."""
    tilt = math.tan(math.radians(q.MPC_MAN_TILT_MAX))
    forward, right = limit_norm2(v.stick_forward * tilt, v.stick_right * tilt, tilt)
    if not math.isfinite(v.target_yaw):
        v.target_yaw = yaw
    _sticks_yaw(v, q)
    v.target_yaw = wrap_pi(v.target_yaw + v.sp_yaw_rate * dt)
    zx = forward * math.cos(yaw) + right * math.sin(yaw)
    zy = forward * math.sin(yaw) - right * math.cos(yaw)
    norm = math.sqrt(zx * zx + zy * zy + 1.0)
    quat = quat_from_axes(zx / norm, zy / norm, 1.0 / norm, v.target_yaw)
    for k in range(4):
        v.sp_quat[k] = quat[k]


@njit
def _thrust_by_stick(v):
    """Throttle 0..1 with the hover thrust at the middle of the stick [N]."""
    hover = v.mass * GRAVITY
    if v.stick_up < 0.0:
        return hover * (1.0 + v.stick_up)
    return hover + v.stick_up * (v.thrust_max - hover)


@njit
def _offboard(v, actuators):
    v.sp_kind = v.offboard_kind
    if v.offboard_kind != TRAJECTORY:
        v.free_yaw = math.nan
    if v.offboard_kind == TRAJECTORY:
        for k in range(3):
            v.sp_pos[k] = v.offboard_pos[k]
            v.sp_vel[k] = v.offboard_vel[k]
            v.sp_acc[k] = v.offboard_acc[k]
        v.sp_yaw = v.offboard_yaw
        v.sp_yaw_rate = v.offboard_yaw_rate
    elif v.offboard_kind == ATTITUDE:
        for k in range(4):
            v.sp_quat[k] = v.offboard_quat[k]
        v.sp_yaw_rate = v.offboard_yaw_rate
        v.sp_thrust = v.offboard_thrust
        v.sp_side_force[0], v.sp_side_force[1] = v.offboard_side_force[0], v.offboard_side_force[1]
    elif v.offboard_kind == RATES:
        for k in range(3):
            v.sp_rates[k] = v.offboard_rates[k]
        v.sp_thrust = v.offboard_thrust
        v.sp_side_force[0], v.sp_side_force[1] = v.offboard_side_force[0], v.offboard_side_force[1]
    elif v.offboard_kind == ACTUATORS:  # about what the commands lift, to tell take-off and landing
        v.sp_thrust = _thrust_of(v, actuators)


@njit
def _thrust_of(v, actuators):
    """Collective thrust [N] at the mean of the actuator commands (A,) that are given."""
    total, count = 0.0, 0
    for command in actuators:
        if math.isfinite(command):
            total += max(command, 0.0)
            count += 1
    return thrust_newtons(v, total / count) if total > 0.0 else 0.0


@njit
def _wants_up(v, pos):
    """Whether the set-points of an armed vehicle on the ground demand a take-off."""
    if v.sp_kind == TRAJECTORY:
        if math.isfinite(v.sp_vel[2]) and v.sp_vel[2] > 0.05:
            return True
        if math.isfinite(v.sp_pos[2]):
            return v.sp_pos[2] - pos[2] > 0.2
        if math.isfinite(v.sp_acc[2]) and not math.isfinite(v.sp_vel[2]):
            return v.sp_acc[2] > 0.05
        return False
    return v.sp_thrust > 0.5 * v.mass * GRAVITY


@njit
def _wants_down(v, vel):
    """Whether the set-points demand a descent, or too little thrust to fly."""
    if v.sp_kind == TRAJECTORY:
        if not (math.isfinite(v.sp_pos[2]) or math.isfinite(v.sp_vel[2])):
            return False
        return v.sp_vel[2] < -0.1 and v.sp_thrust < 0.95 * v.mass * GRAVITY
    return v.sp_thrust < 0.3 * v.mass * GRAVITY


@njit
def _detect(v, q, t_us, pos, vel, rate, dt):
    """Take-off, landing and automatic disarming."""
    if not v.armed:
        v.landed = True
        v.ramp = 0.0
        v.still_t = t_us
        v.landed_t = t_us
        return
    if v.landed:
        if _wants_up(v, pos):
            if v.ramp == 0.0:
                v.smooth_pos[2] = pos[2]
                v.home[2] = pos[2]
            v.ramp = min(v.ramp + dt / RAMP_S, 1.0)
            if v.ramp >= 1.0 and (pos[2] - v.home[2] > TAKEN_OFF_HEIGHT or vel[2] > 0.3):
                v.landed = False
                v.landed_t = t_us
                v.still_t = t_us
                v.events |= EVENT_TAKEN_OFF
            elif v.ramp >= 1.0 and v.sp_kind != TRAJECTORY:
                v.landed = False
        else:
            v.ramp = max(v.ramp - dt / RAMP_S, 0.0)
            if v.ramp == 0.0:
                v.sp_kind = NO_SET_POINT
        since = (t_us - v.landed_t) * 1e-6
        if v.landed_t > v.armed_t:
            if q.COM_DISARM_LAND >= 0.0 and since > q.COM_DISARM_LAND:
                v.events |= EVENT_DISARM_LANDED
        elif v.ramp == 0.0 and q.COM_DISARM_PRFLT >= 0.0:
            if (t_us - v.armed_t) * 1e-6 > q.COM_DISARM_PRFLT and since > q.COM_DISARM_PRFLT:
                v.events |= EVENT_DISARM_PREFLIGHT
        return
    turning = abs(rate[0]) + abs(rate[1]) + abs(rate[2]) > 0.5
    speed = math.sqrt(vel[0] * vel[0] + vel[1] * vel[1] + vel[2] * vel[2])
    if v.descend and v.mode == LAND:
        speed = abs(vel[2])
    if not _wants_down(v, vel) or speed > LAND_SPEED_STILL or turning:
        v.still_t = t_us
    elif (t_us - v.still_t) * 1e-6 > LAND_DETECT_S:
        v.landed = True
        v.landed_t = t_us
        v.ramp = 0.0
        v.sp_kind = NO_SET_POINT
        v.events |= EVENT_LANDED
        for k in range(3):
            v.vel_integral[k] = 0.0


@njit
def _limit_tilt(v, q, dt):
    """The largest tilt of the velocity loop: on the ground small, and none while rotors stand."""
    if v.landed:
        v.tilt_limit = v.ramp * math.radians(q.MPC_TILTMAX_LND)
    else:
        v.tilt_limit = min(v.tilt_limit + TILT_LIMIT_RATE * dt, math.radians(q.MPC_TILTMAX_AIR))


@njit
def _navigate_one(v, q, t_us, pos, vel, quat, actuators, dt):
    yaw = yaw_of(quat)
    if v.mode_stage == NEW_MODE:  # a new mode; its heading turns on from the present one
        goes_on = v.on_trajectory and not v.landed and math.isfinite(v.sp_yaw)
        heading = v.sp_yaw if goes_on else yaw
        _free(v)
        v.sp_yaw = heading
        _begin_mode(v, q, pos, vel, yaw)
    v.on_trajectory = False
    mode = v.mode
    v.sp_kind = TRAJECTORY
    v.sp_side_force[0] = v.sp_side_force[1] = 0.0
    if mode == OFFBOARD:
        if (t_us - v.offboard_t) * 1e-6 > q.COM_OF_LOSS_T:
            v.events |= EVENT_OFFBOARD_LOST
        _offboard(v, actuators)
    elif mode == TAKEOFF:
        _takeoff(v, q, pos, dt)
    elif mode == LAND:
        _land(v, q, pos, dt)
    elif mode == RTL:
        _return(v, q, pos, yaw, t_us, dt)
    elif mode == POSCTL:
        _position_by_sticks(v, q, pos, vel, yaw, dt)
    elif mode == ALTCTL:
        up = _stick(v.stick_up)
        _free(v)
        _height_by_stick(v, q, pos, up * (q.MPC_Z_VEL_MAX_UP if up > 0.0
                                          else q.MPC_Z_VEL_MAX_DN), dt)
        _sticks_yaw(v, q)
        tilt = GRAVITY * math.tan(math.radians(q.MPC_MAN_TILT_MAX))
        ax, ay = limit_norm2(v.stick_forward * tilt, v.stick_right * tilt, tilt)
        v.sp_acc[0] = ax * math.cos(yaw) + ay * math.sin(yaw)
        v.sp_acc[1] = ax * math.sin(yaw) - ay * math.cos(yaw)
    elif mode in (STABILIZED, MANUAL):
        _tilt_by_sticks(v, q, yaw, dt)
        v.sp_kind = ATTITUDE
        v.sp_thrust = _thrust_by_stick(v)
    elif mode == ACRO:
        v.sp_kind = RATES
        v.sp_rates[0] = v.stick_right * math.radians(q.MC_ACRO_R_MAX)
        v.sp_rates[1] = v.stick_forward * math.radians(q.MC_ACRO_P_MAX)
        v.sp_rates[2] = -v.stick_clockwise * math.radians(q.MC_ACRO_Y_MAX)
        v.sp_thrust = _thrust_by_stick(v)
    elif mode == FOLLOW_TARGET:
        _follow(v, q, pos, dt)
    else:
        _task(v, q, pos, yaw, dt)
    if v.failsafe and mode == LOITER and (t_us - v.mode_t) * 1e-6 > q.COM_FAIL_ACT_T:
        v.events |= EVENT_FAILSAFE_DELAY_OVER


@njit
def _begin_mode(v, q, pos, vel, yaw):
    _begin(v, pos, vel, yaw)
    if v.mode != OFFBOARD and not v.landed:
        _stop_ahead(v, q)
    if v.mode == TAKEOFF:
        v.target[2] = v.takeoff_height
    v.mode_stage = 0


@njit
def _navigate(status, parameters, t_us, epoch_us, estimates, sensors, actuators, dt):
    """One pass over the fleet; returns the union of the events."""
    events = 0
    for i in range(status.shape[0]):
        v, e = status[i], estimates[i]
        if t_us != epoch_us[i]:
            _filter_acceleration(v, e.quat, sensors[i].accel, e.accel_bias, dt)
        if v.armed or v.mode_stage == NEW_MODE:
            _navigate_one(v, parameters[i], t_us, e.pos, e.vel, e.quat, actuators[i], dt)
        else:
            v.sp_kind = NO_SET_POINT
        _detect(v, parameters[i], t_us, e.pos, e.vel, e.ang_vel, dt)
        _limit_tilt(v, parameters[i], dt)
        events |= v.events
    return events


@njit
def _filter_acceleration(v, quat, accel, bias, dt):
    """World acceleration from the accelerometer, low-passed, for the velocity loop's damping."""
    ax, ay, az = rotate(quat[0], quat[1], quat[2], quat[3],
                        accel[0] - bias[0], accel[1] - bias[1], accel[2] - bias[2])
    if not math.isfinite(ax + ay + az):  # the estimator has no attitude yet
        return
    gain = dt / (ACC_FILTER_S + dt)
    v.acc_filtered[0] += gain * (ax - v.acc_filtered[0])
    v.acc_filtered[1] += gain * (ay - v.acc_filtered[1])
    v.acc_filtered[2] += gain * (az - GRAVITY - v.acc_filtered[2])


class Navigator(Memory):
    """Modes of a fleet."""

    MEMORY = ("_resets",)

    def __init__(self, status: np.ndarray, parameters: ParameterStore, estimator: Estimator):
        """status: (N,) of VEHICLE_STATUS, whose set-points it writes."""
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._resets = estimator.reset_count.copy()
        self.remember_start()

    def step(self, now: Now, actuators: np.ndarray, dt: float) -> int:
        """Writes the set-points of every vehicle; returns the union of the EVENT_ bits raised.

        Args:
            now: Time and readings.
            actuators: (N, A) commands of offboard set-points of that level.
            dt: Length of the step [s].
        """
        return _navigate(self._status, self._parameters.values, now.t_us, now.epoch_us,
                         self._estimator.records, now.sensors.records, actuators, dt)

    def follow_resets(self) -> None:
        """Where an estimate was reset, the trajectory that the vehicle follows is shifted along."""
        e = self._estimator
        changed = e.reset_count != self._resets
        if changed.any():
            jumped = np.flatnonzero(changed)
            self._status["smooth_pos"][jumped] += e.reset_pos[jumped]
            self._resets[jumped] = e.reset_count[jumped]

    def begin(self, i: int) -> None:
        """Enters an AUTO mode at once, so that the target set next is not overwritten."""
        v, e = self._status[i], self._estimator
        goes_on = v["on_trajectory"] and not v["landed"]
        if not goes_on:
            v["smooth_pos"], v["smooth_vel"] = e.pos[i], e.vel[i]
            v["smooth_acc"] = 0.0
        if not (goes_on and math.isfinite(v["sp_yaw"])):
            v["sp_yaw"] = e.yaw(i)
        v["target_vel"] = 0.0
        v["target"] = v["smooth_pos"]
        v["target_yaw"] = e.yaw(i)
        v["climb"] = v["accept_yaw"] = v["target_speed"] = np.nan
        v["target_type"], v["watch"], v["pass_speed"] = TARGET_POSITION, False, 0.0
        v["mode_stage"] = 0

    def reposition(self, i: int, target: npt.ArrayLike, yaw: float, speed: float) -> None:
        """A new position (3,) [m] to hold in AUTO.LOITER; NaN keeps the present one."""
        v = self._status[i]
        if v["mode_stage"] == NEW_MODE:
            self.begin(i)
        v["target"] = np.where(np.isfinite(target), target, v["target"])
        if np.isfinite(yaw):
            v["target_yaw"] = yaw
        v["target_speed"] = speed if np.isfinite(speed) and speed > 0 else np.nan
