"""Throttle and steering of rovers and boats in each mode.

As PX4 v1.15's rover_pos_control (steered wheels and boats) and differential_drive, except that
POSCTL, in which the first goes on with what it did before, keeps the speed of the throttle stick.
"""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.modes import Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import ROVER
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import rotate_inverse

from ..control.vector import clamp, wrap_pi, yaw_of
from ..interfaces import Estimator
from ..navigation.trajectory import speed_to_slow
from ..parameters.store import ParameterStore
from ..state.clock import StepClock
from ..state.vehicle_status import (
    ACTUATORS,
    DIFFERENTIAL,
    EVENT_DISARM_LANDED,
    EVENT_FAILSAFE_DELAY_OVER,
    EVENT_OFFBOARD_LOST,
    EVENT_TARGET_REACHED,
    NEVER,
    NEW_MODE,
    NO_SET_POINT,
    STEERED,
    TRAJECTORY,
    WATCH_NOTHING,
    WATCH_TIME,
)
from .line import lateral_acceleration
from .mixing import drives, mixing, set_defaults

MANUAL, STABILIZED, ACRO = int(Mode.MANUAL), int(Mode.STABILIZED), int(Mode.ACRO)
POSCTL, OFFBOARD, LOITER, LAND = (
    int(Mode.POSCTL),
    int(Mode.OFFBOARD),
    int(Mode.LOITER),
    int(Mode.LAND),
)
_TURNING, _DRIVING, _STOPPED = range(3)  # drive_stage
_FACED = 0.05  # error of heading at which a differential drive begins to drive [rad]
_FULL, _NONE = 0.1, 0.8  # errors of heading up to which it drives at full speed, and from which not
_DEADZONE = 0.1  # of the throttle stick in POSCTL
_STANDS = 0.1  # slower it counts as standing [m/s]
_CYCLE = 0.008  # of rover_pos_control in AUTO modes, at 250 Hz of sensors [s]
_SHORTEST = 0.01  # with which it counts otherwise, and at least for a rate of change [s]
_INTEGRAL = 2.0  # limit of the differential drive's integral of speed [m]
_TURN_INTEGRAL = 20.0  # and of its yaw rate [rad]


@njit
def _throttle(q: Any, wanted: float, speed: float, dt: float) -> float:
    """Closed loop of speed of rover_pos_control: command for a speed [m/s], without its limits.

    PX4 v1.15 forgets the integral and the last error in each cycle, so that all three terms are
    proportional to the error, and the speed stays below the one wanted.
    """
    error = wanted - speed
    out = (q.GND_SPEED_P + q.GND_SPEED_D / max(dt, _SHORTEST)) * error
    integral = error * dt
    if abs(integral) <= q.GND_SPEED_IMAX and abs(out + q.GND_SPEED_I * integral) <= q.GND_SPEED_MAX:
        out += q.GND_SPEED_I * integral
    return q.GND_SPEED_THR_SC * clamp(out, -q.GND_SPEED_MAX, q.GND_SPEED_MAX)


@njit
def _cruise(v, q, speed):
    """Throttle of AUTO modes, at the speed of the leg."""
    if q.GND_SP_CTRL_MODE != 1:
        return q.GND_THR_CRUISE
    wanted = v.target_speed if v.target_speed > 0.1 else q.GND_SPEED_TRIM
    return clamp(_throttle(q, wanted, speed, _CYCLE), q.GND_THR_MIN, q.GND_THR_MAX)


@njit
def _by_line(v, q, e, distance, speed):
    """To the target along its line; it stops at NAV_LOITER_RAD and waits for another target."""
    if v.drive_stage == _STOPPED or distance < q.NAV_LOITER_RAD:
        v.drive_stage, v.throttle, v.steering = _STOPPED, 0.0, 0.0
        return
    there = (v.target[0], v.target[1])
    begin = (v.previous[0], v.previous[1]) if math.isfinite(v.previous[0]) else there
    moves = (e.vel[0], e.vel[1])
    left = lateral_acceleration(q, begin, there, (e.pos[0], e.pos[1]), moves)
    square = moves[0] * moves[0] + moves[1] * moves[1]
    angle = math.atan2(q.GND_WHEEL_BASE * abs(left), square)
    v.throttle = _cruise(v, q, speed)
    v.steering = -math.copysign(min(1.0, angle / q.GND_MAX_ANG), left)


@njit
def _differential(v, q, speed, wanted, rate, turn, closed_speed, closed_turn, dt):
    """Throttle and steering for a speed [m/s] and a yaw rate [rad/s], counter-clockwise.

    Args:
        v, q: Records of the vehicle's status and parameters.
        speed, rate: As they are.
        wanted, turn: As they should be.
        closed_speed, closed_turn: Whether each is controlled by its error.
        dt: Length of the step [s].
    """
    most = q.RDD_WHEEL_SPEED * q.RDD_WHEEL_RADIUS
    half = 0.5 * q.RDD_WHEEL_BASE
    if closed_speed:
        error = wanted - speed
        v.speed_integral = clamp(v.speed_integral + error * dt, -_INTEGRAL, _INTEGRAL)
        wanted += q.RDD_P_SPEED * error + q.RDD_I_SPEED * v.speed_integral
    if closed_turn:
        error = turn - rate
        v.turn_integral = clamp(v.turn_integral + error * dt, -_TURN_INTEGRAL, _TURN_INTEGRAL)
        turn += q.RDD_P_ANG_VEL * error + q.RDD_I_ANG_VEL * v.turn_integral
    side = clamp(half * turn, -most, most)
    straight = clamp(wanted, abs(side) - most, most - abs(side))  # turning comes first
    v.throttle = straight / most if most > 0.0 else 0.0
    v.steering = -side / most if most > 0.0 else 0.0


@njit
def _to_place(v, q, distance, bearing, speed, rate, dt):
    """Differential drive: turns to the target, drives there, stops at the last one."""
    most = q.RDD_WHEEL_SPEED * q.RDD_WHEEL_RADIUS
    if not math.isfinite(v.following[0]) and distance <= q.NAV_ACC_RAD:
        v.drive_stage = _STOPPED
    wanted, turn = 0.0, q.RDD_P_HEADING * bearing + bearing
    if v.drive_stage == _STOPPED:
        v.drive_speed = turn = 0.0
    elif v.drive_stage == _TURNING:
        v.drive_speed = 0.0
        if abs(bearing) < _FACED:
            v.drive_stage = _DRIVING
    else:
        end = min(most, speed_to_slow(distance, 0.0, q.RDD_MAX_ACCEL, q.RDD_MAX_JERK))
        if v.target_speed > 0.0:
            end = min(end, v.target_speed)
        v.drive_speed = min(end, v.drive_speed + q.RDD_MAX_ACCEL * dt)
        share = clamp((_NONE - abs(bearing)) / (_NONE - _FULL), 0.0, 1.0)
        wanted = share * v.drive_speed
    top = most / max(0.5 * q.RDD_WHEEL_BASE, 1e-6)
    _differential(v, q, speed, wanted, rate, clamp(turn, -top, top), True, True, dt)


@njit
def _to_target(v, q, e, yaw, speed, dt):
    """AUTO modes, and OFFBOARD with a position."""
    dx, dy = v.target[0] - e.pos[0], v.target[1] - e.pos[1]
    if v.target[0] != v.drive_target[0] or v.target[1] != v.drive_target[1]:
        v.drive_stage = _TURNING
        v.drive_target[0], v.drive_target[1] = v.target[0], v.target[1]
    distance = math.hypot(dx, dy)
    if v.drive == DIFFERENTIAL:
        _to_place(v, q, distance, wrap_pi(math.atan2(dy, dx) - yaw), speed, e.ang_vel[2], dt)
    else:
        _by_line(v, q, e, distance, speed)
    return distance


@njit
def _by_velocity(v, q, e, yaw, speed, dt):
    """OFFBOARD with a velocity: nose and speed to it."""
    east, north = v.offboard_vel[0], v.offboard_vel[1]
    wanted = math.hypot(east, north)
    if not wanted > 0.01:  # NaN: nothing is wanted
        v.throttle = v.steering = 0.0
        return
    off = wrap_pi(math.atan2(north, east) - yaw)
    if v.drive == DIFFERENTIAL:
        share = clamp((_NONE - abs(off)) / (_NONE - _FULL), 0.0, 1.0)
        _differential(
            v, q, speed, share * wanted, e.ang_vel[2], (1.0 + q.RDD_P_HEADING) * off, True, True, dt
        )
    else:
        v.throttle = clamp(_throttle(q, wanted, speed, _SHORTEST), 0.0, q.GND_THR_CRUISE)
        v.steering = clamp(-off / q.GND_MAX_ANG, -1.0, 1.0)


@njit
def _by_sticks(v, q, e, yaw, speed, dt):
    """MANUAL, ACRO, STABILIZED and POSCTL: throttle stick and roll stick."""
    forward, right = v.stick_up, v.stick_right
    if v.drive == DIFFERENTIAL:
        most = q.RDD_WHEEL_SPEED * q.RDD_WHEEL_RADIUS
        turn_most = most / max(0.5 * q.RDD_WHEEL_BASE, 1e-6)
        _differential(
            v,
            q,
            speed,
            forward * q.RDD_SPEED_SCALE * most,
            e.ang_vel[2],
            -right * q.RDD_ANG_SCALE * turn_most,
            False,
            v.mode == ACRO,
            dt,
        )
        return
    v.steering, v.throttle = right, forward
    if v.mode == POSCTL:
        wanted = 0.0 if abs(forward) <= _DEADZONE else forward * q.GND_SPEED_TRIM
        v.throttle = clamp(_throttle(q, wanted, speed, _SHORTEST), -q.GND_THR_MAX, q.GND_THR_MAX)
        if wanted == 0.0 and v.drive == STEERED:  # wheels brake by themselves
            v.throttle = 0.0
    elif v.mode == STABILIZED:
        if not math.isfinite(v.drive_yaw):
            v.drive_yaw = yaw
        v.drive_yaw = wrap_pi(v.drive_yaw - right * math.radians(q.GND_MAN_Y_MAX) * dt)
        v.steering = clamp(-wrap_pi(v.drive_yaw - yaw) / q.GND_MAX_ANG, -1.0, 1.0)
        v.throttle = max(0.0, forward)


@njit
def _watch(v, t_us, distance, reach):
    """Raises an event where the target is reached and held for as long as wanted."""
    if v.watch == WATCH_NOTHING:
        return
    if v.reached_t == NEVER and (v.watch == WATCH_TIME or distance <= reach):
        v.reached_t = t_us
    if v.reached_t != NEVER and t_us - v.reached_t >= v.hold_s * 1e6:
        v.watch = WATCH_NOTHING
        v.events |= EVENT_TARGET_REACHED


@njit
def _begin(v):
    v.mode_stage = 0
    v.speed_integral = v.turn_integral = v.drive_speed = 0.0
    v.drive_yaw = math.nan


@njit
def _drive_one(v, q, e, t_us, dt):
    """Throttle and steering of an armed vehicle."""
    if v.mode_stage == NEW_MODE:
        _begin(v)
    yaw = yaw_of(e.quat)
    speed = rotate_inverse(
        e.quat[0], e.quat[1], e.quat[2], e.quat[3], e.vel[0], e.vel[1], e.vel[2]
    )[0]
    v.sp_kind = TRAJECTORY
    if v.mode in (MANUAL, STABILIZED, ACRO, POSCTL):
        _by_sticks(v, q, e, yaw, speed, dt)
    elif v.mode == OFFBOARD:
        if (t_us - v.offboard_t) * 1e-6 > q.COM_OF_LOSS_T:
            v.events |= EVENT_OFFBOARD_LOST
        v.sp_kind = v.offboard_kind
        if v.offboard_kind == ACTUATORS:
            return
        if math.isfinite(v.offboard_pos[0]):
            for k in range(2):
                v.target[k] = v.offboard_pos[k]
                v.previous[k] = v.following[k] = math.nan
            _to_target(v, q, e, yaw, speed, dt)
        else:
            _by_velocity(v, q, e, yaw, speed, dt)
    elif v.mode == LAND:
        v.throttle = v.steering = 0.0
        if abs(speed) < _STANDS:
            v.events |= EVENT_DISARM_LANDED
    else:
        distance = _to_target(v, q, e, yaw, speed, dt)
        _watch(
            v, t_us, distance, v.reach if v.drive == DIFFERENTIAL else max(v.reach, q.GND_L1_DIST)
        )
    if v.failsafe and v.mode == LOITER and (t_us - v.mode_t) * 1e-6 > q.COM_FAIL_ACT_T:
        v.events |= EVENT_FAILSAFE_DELAY_OVER


@njit
def _drive(status, parameters, estimates, t_us, dt):
    """One pass over the fleet; returns the union of the events."""
    events = 0
    for i in range(status.shape[0]):
        v = status[i]
        if v.vehicle_type != ROVER:
            continue
        v.landed = not v.armed or v.mode == LAND
        if v.armed:
            _drive_one(v, parameters[i], estimates[i], t_us, dt)
        else:
            v.sp_kind = NO_SET_POINT
            v.throttle = v.steering = 0.0
        events |= v.events
    return events


@njit
def _mix(status, mixing, commands):
    for i in range(status.shape[0]):
        v = status[i]
        if v.vehicle_type != ROVER:
            continue
        for k in range(commands.shape[1]):
            commands[i, k] = clamp(
                mixing[i, k, 0] * v.throttle + mixing[i, k, 1] * v.steering, -1.0, 1.0
            )


class Drive(Memory):
    """Control of the rovers and boats of a fleet."""

    MEMORY = ()

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        estimator: Estimator,
        fleet: FleetModel,
    ):
        """status: (N,) of VEHICLE_STATUS, whose `drive` and parameters it sets."""
        self._status, self._parameters, self._estimator = status, parameters, estimator
        status["drive"] = drives(fleet)
        set_defaults(parameters, fleet, status["vehicle_type"] == ROVER, status["drive"])
        self._mixing = mixing(fleet)
        self._any = bool((status["vehicle_type"] == ROVER).any())
        self.remember_start()

    def step(self, clock: StepClock, dt: float) -> int:
        """Sets throttle and steering of each mode; returns the union of the EVENT_ bits raised."""
        if not self._any:
            return 0
        return _drive(
            self._status, self._parameters.values, self._estimator.records, clock.t_us, dt
        )

    def mix(self, commands: np.ndarray) -> None:
        """Writes the commands (N, A) of rovers and boats."""
        if self._any:
            _mix(self._status, self._mixing, commands)
