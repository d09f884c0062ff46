"""Set-points of each flight mode.

One compiled pass over the fleet at each step: it turns the mode, the sticks or
the offboard set-point into sp_* of the status record, follows jerk-limited trajectories
in AUTO modes, watches whether their targets are reached, and raises events. The commander
decides on mode changes; missions and returns set the targets.
"""

import math

import numpy as np
import numpy.typing as npt

from xtdrone_core.modes import POSITION_SLOW, Mode
from xtdrone_core.runs.snapshot import Memory
from xtdrone_core.state import SensorBatch
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, MULTICOPTER, NOT_VTOL
from xtdrone_dynamics.compiled import fleet_kernel, njit
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.quaternion import rotate
from xtdrone_dynamics.stick_curves import super_exponential

from ..control.hover_thrust import estimate_hover_thrust
from ..control.laws import Laws, added_law, with_laws
from ..control.vector import (
    clamp,
    limit_norm2,
    quat_from_axes,
    thrust_newtons,
    thrust_normalised,
    wrap_pi,
    yaw_of,
)
from ..estimation.lever_arm import at_centre
from ..interfaces import Estimator
from ..parameters.store import ParameterStore
from ..state.clock import LOOP_S, LOOP_US, StepClock
from ..state.vehicle_status import (
    ACTUATORS,
    ATTITUDE,
    EVENT_FAILSAFE_DELAY_OVER,
    EVENT_OFFBOARD_LOST,
    EVENT_TARGET_REACHED,
    NEVER,
    NEW_MODE,
    NO_SET_POINT,
    RATES,
    STAGE_RAMP,
    TARGET_LAND,
    TARGET_LOITER,
    TARGET_ORBIT,
    TARGET_TAKEOFF,
    TO_FIXED_WING,
    TO_HOVER,
    TRAJECTORY,
    WATCH_HEIGHT,
    WATCH_NOTHING,
    WATCH_PLACE,
    WATCH_TIME,
)
from . import ground
from .heading import face, turn_to
from .line import fly_line, follow_velocity
from .trajectory import advance, speed_to_slow

MANUAL, STABILIZED, ACRO = int(Mode.MANUAL), int(Mode.STABILIZED), int(Mode.ACRO)
ALTCTL, POSCTL, OFFBOARD = int(Mode.ALTCTL), int(Mode.POSCTL), int(Mode.OFFBOARD)
LOITER, FOLLOW_TARGET = int(Mode.LOITER), int(Mode.FOLLOW_TARGET)

STICK_DEADZONE = 0.1
STICK_TAKES_OFF = 0.3  # throttle stick from which a take-off begins
ACC_FILTER_S = 0.03  # time constant of the acceleration that damps the velocity loop [s]
TASK_US = 20_000  # mean period of the trajectory of AUTO modes, as in PX4 [us]
WATCH_US = 50_000  # period of looking whether a target is reached [us]
SINKS = 1.1  # a landing vehicle wants to sink at this many times LNDMC_Z_VEL_MAX
REST_SINK = 0.7  # the trajectory of a vehicle on the ground begins at this descent rate [m/s]
AUTO_MARGIN = 1.2  # the vertical limits of AUTO modes leave this much to the position loop
CLIMB_FILTER_S = 2.0  # time constant of the climb rate in a transition [s]
BRAKE_S = 0.6  # before a vehicle that is told to hold begins to brake [s]
OPEN = np.full(3, np.nan)  # no point


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
def _rest(v, pos, vel_z):
    """The trajectory starts here, at a vertical velocity [m/s]."""
    for k in range(3):
        v.smooth_pos[k] = pos[k]
        v.smooth_vel[k] = vel_z if k == 2 else 0.0
        v.smooth_acc[k] = 0.0


@njit
def _begin_mode(v, pos, vel, yaw):
    """Entry of a mode: a trajectory goes on, or starts at the present motion and heading."""
    goes_on = v.on_trajectory and not v.landed and math.isfinite(v.sp_yaw)
    heading = v.sp_yaw if goes_on else yaw
    rate = v.sp_yaw_rate if goes_on else 0.0
    _free(v)
    v.sp_yaw, v.sp_yaw_rate = heading, rate
    for k in range(3):
        if not goes_on:
            v.smooth_pos[k] = pos[k]
            v.smooth_vel[k] = 0.0 if v.landed else vel[k]
            v.smooth_acc[k] = 0.0
            v.line[1, k] = math.nan
        v.target_vel[k] = 0.0
    v.free_yaw = v.drive_target[0] = math.nan
    v.mode_stage = 0


@njit
def _orbit(v, q, pos, dt):
    """Flies round v.centre, nose to it, at the height of v.target."""
    acc, jerk = q.MPC_ACC_HOR, q.MPC_JERK_AUTO
    radius = max(abs(v.orbit_radius), 0.5)
    turn = -1.0 if v.orbit_radius > 0.0 else 1.0
    dx, dy = v.smooth_pos[0] - v.centre[0], v.smooth_pos[1] - v.centre[1]
    before = math.atan2(dy, dx)
    out = math.sqrt(dx * dx + dy * dy)
    cruise = min(v.target_speed if v.target_speed > 0.0 else q.MPC_XY_CRUISE, q.MPC_XY_VEL_MAX)
    # Half the acceleration and the jerk are left for what the circle itself does not need.
    speed = min(
        cruise, math.sqrt(0.5 * acc * radius), (0.5 * jerk * radius * radius) ** (1.0 / 3.0)
    )
    # A quarter of a second ahead, after which the trajectory answers.
    along = before + turn * 0.25 * speed / radius
    inwards = clamp(radius - out, -1.0, 1.0)
    wx = -turn * math.sin(along) * speed + math.cos(along) * inwards
    wy = turn * math.cos(along) * speed + math.sin(along) * inwards
    dz = v.target[2] - v.smooth_pos[2]
    wz = math.copysign(speed_to_slow(abs(dz), 0.0, acc, jerk), dz)
    follow_velocity(
        v,
        q,
        pos,
        wx,
        wy,
        wz,
        q.MPC_Z_V_AUTO_UP if wz > 0.0 else q.MPC_Z_V_AUTO_DN,
        q.MPC_ACC_UP_MAX if wz > 0.0 else q.MPC_ACC_DOWN_MAX,
        dt,
    )
    turn_to(v, q, math.atan2(v.centre[1] - pos[1], v.centre[0] - pos[0]), dt)
    after = math.atan2(v.smooth_pos[1] - v.centre[1], v.smooth_pos[0] - v.centre[0])
    v.orbit_left -= turn * wrap_pi(after - before)
    v.target[0] = v.smooth_pos[0]
    v.target[1] = v.smooth_pos[1]
    if v.watch != WATCH_NOTHING and v.orbit_left <= 0.0:
        v.watch = WATCH_NOTHING
        v.events |= EVENT_TARGET_REACHED


@njit
def _descend(v, q):
    """AUTO.LAND without a position: level, downwards."""
    _free(v)
    v.sp_acc[0] = 0.0
    v.sp_acc[1] = 0.0
    v.sp_vel[2] = -q.MPC_LAND_SPEED
    v.sp_yaw_rate = 0.0
    v.wants_up = False


@njit
def _follow_trajectory(v, first, last):
    """The set-points of axes first to last - 1 are those of the trajectory."""
    for k in range(first, last):
        v.sp_pos[k] = v.smooth_pos[k]
        v.sp_vel[k] = v.smooth_vel[k]
        v.sp_acc[k] = v.smooth_acc[k]
    v.on_trajectory = True


@njit
def _auto(v, q, pos, dt):
    """AUTO modes: the trajectory goes on to, around or down at the target, by its type."""
    if v.stage < STAGE_RAMP:
        _rest(v, pos, -REST_SINK)
    if v.target_type == TARGET_ORBIT:
        _orbit(v, q, pos, dt)
        return
    if v.mode == FOLLOW_TARGET:
        for k in range(3):
            v.target[k] += v.target_vel[k] * dt
            v.centre[k] += v.target_vel[k] * dt
        v.target_yaw = math.atan2(v.centre[1] - pos[1], v.centre[0] - pos[0])
    elif (
        math.isfinite(v.roi[0])
        and not q.MIS_MNT_YAW_CTL
        and v.target_type not in (TARGET_TAKEOFF, TARGET_LAND)
    ):
        dx, dy = v.roi[0] - pos[0], v.roi[1] - pos[1]
        if math.hypot(dx, dy) > q.NAV_ACC_RAD:
            v.target_yaw = math.atan2(dy, dx)
    fly_line(v, q, pos, dt)
    face(v, q, pos, dt)


@njit
def _watch(v, q, t_us, pos, yaw):
    """Raises an event where the target is reached, faced and held for as long as wanted."""
    if v.watch == WATCH_TIME:
        v.reached_t = min(v.reached_t, t_us)
    elif not v.landed and v.reached_t == NEVER and _at_target(v, pos):
        v.reached_t = t_us
    if v.reached_t == NEVER:
        return
    if not v.faced:
        v.faced = (
            v.watch == WATCH_TIME
            or not math.isfinite(v.target_yaw)
            or abs(wrap_pi(v.target_yaw - yaw)) < math.radians(q.MIS_YAW_ERR)
        )
    if v.faced and t_us - v.reached_t >= v.hold_s * 1e6:
        v.watch = WATCH_NOTHING
        v.events |= EVENT_TARGET_REACHED


@njit
def _at_target(v, pos):
    if v.watch == WATCH_HEIGHT:
        return pos[2] > v.target[2] - v.reach_height
    return (
        math.hypot(v.target[0] - pos[0], v.target[1] - pos[1]) <= v.reach
        and abs(pos[2] - v.target[2]) <= v.reach_height
    )


@njit
def _sticks_yaw(v, q):
    v.sp_yaw = math.nan
    v.sp_yaw_rate = -_stick(v.stick_clockwise) * math.radians(q.MPC_MAN_Y_MAX)


@njit
def _position_by_sticks(v, q, pos, vel, yaw, dt):
    """POSCTL: sticks are velocities in the heading frame; centred, it holds its position."""
    forward, right, up = _stick(v.stick_forward), _stick(v.stick_right), _stick(v.stick_up)
    _sticks_yaw(v, q)
    fast, climb, sink = q.MPC_VEL_MANUAL, q.MPC_Z_VEL_MAX_UP, q.MPC_Z_VEL_MAX_DN
    if v.nav_state == POSITION_SLOW:
        fast = min(fast, q.MC_SLOW_DEF_HVEL)
        climb, sink = min(climb, q.MC_SLOW_DEF_VVEL), min(sink, q.MC_SLOW_DEF_VVEL)
        most = math.radians(q.MC_SLOW_DEF_YAWR)
        v.sp_yaw_rate = clamp(v.sp_yaw_rate, -most, most)
    wx = (forward * math.cos(yaw) + right * math.sin(yaw)) * fast
    wy = (forward * math.sin(yaw) - right * math.cos(yaw)) * fast
    wz = up * (climb if up > 0.0 else sink)
    advance(v, 0, 2, (wx, wy, 0.0), q.MPC_ACC_HOR, 0.0, q.MPC_JERK_AUTO, dt)
    for k in range(2):
        v.smooth_pos[k] = clamp(v.smooth_pos[k], pos[k] - 2.0, pos[k] + 2.0)
    _height_by_stick(v, q, pos, wz, dt)
    _follow_trajectory(v, 0, 3)


@njit
def _height_by_stick(v, q, pos, wz, dt):
    advance(v, 2, 3, (0.0, 0.0, wz), 0.0, q.MPC_ACC_UP_MAX, q.MPC_JERK_AUTO, dt)
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
def _rates_by_sticks(v, q):
    """ACRO: body rates, by PX4's curve of stick to rate."""
    expo, more = q.MC_ACRO_EXPO, q.MC_ACRO_SUPEXPO
    v.sp_rates[0] = super_exponential(v.stick_right, expo, more) * math.radians(q.MC_ACRO_R_MAX)
    v.sp_rates[1] = super_exponential(v.stick_forward, expo, more) * math.radians(q.MC_ACRO_P_MAX)
    v.sp_rates[2] = -super_exponential(
        v.stick_clockwise, q.MC_ACRO_EXPO_Y, q.MC_ACRO_SUPEXPOY
    ) * math.radians(q.MC_ACRO_Y_MAX)


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
def _set_point_wants_up(v, pos):
    """Whether the set-points demand a take-off."""
    if math.isfinite(v.sp_pos[2]) and v.sp_pos[2] > pos[2]:
        return True
    if math.isfinite(v.sp_vel[2]) and v.sp_vel[2] > 0.0:
        return True
    return math.isfinite(v.sp_acc[2]) and v.sp_acc[2] > 0.0


@njit
def _by_trajectory(v):
    """Whether its mode feeds the loops of position and velocity."""
    if v.mode == OFFBOARD:
        return v.offboard_kind == TRAJECTORY
    return v.mode not in (STABILIZED, MANUAL, ACRO)


@njit
def _task_step(age_us):
    """Time since the trajectory of AUTO modes last went on [s]; 0 = it does not go on now.

    It goes on in the first run of the loops after each multiple of TASK_US, as in PX4: by 16 and
    by 24 ms in turn.
    """
    if age_us % TASK_US >= LOOP_US:
        return 0.0
    before = (age_us // TASK_US - 1) * TASK_US
    last = (before + LOOP_US - 1) // LOOP_US * LOOP_US
    return (age_us - last) * 1e-6


@njit
def _change_over(v, q, yaw, dt):
    """A VTOL in a transition: its climb rate goes to zero, pitch and roll follow by vtol.Vtol.

    As PX4's FlightTaskTransition.
    """
    _free(v)
    backwards = GRAVITY * math.tan(math.radians(q.FW_PSP_OFF))
    v.sp_acc[0], v.sp_acc[1] = -backwards * math.cos(yaw), -backwards * math.sin(yaw)
    v.smooth_vel[2] *= 1.0 - dt / (CLIMB_FILTER_S + dt)
    v.sp_vel[2] = v.smooth_vel[2]


@njit
def _navigate_one(v, q, e, t_us, age_us, actuators, dt):
    """Set-points of the mode; returns whether it asks for a take-off."""
    pos, vel, yaw = e.pos, e.vel, yaw_of(e.quat)
    if v.mode_stage == NEW_MODE:
        _begin_mode(v, pos, vel, yaw)
    begins = not v.on_trajectory
    v.on_trajectory = False
    mode = v.mode
    v.sp_kind = TRAJECTORY
    v.sp_side_force[0] = v.sp_side_force[1] = 0.0
    v.climb_max, v.sink_max = q.MPC_Z_VEL_MAX_UP, q.MPC_Z_VEL_MAX_DN
    wants_up = v.stick_up > STICK_TAKES_OFF
    if v.vtol_state in (TO_FIXED_WING, TO_HOVER) and _by_trajectory(v):
        _change_over(v, q, yaw, dt)
    elif mode == OFFBOARD:
        _offboard(v, actuators)
        wants_up = _set_point_wants_up(v, pos)
    elif mode == POSCTL:
        if v.stage < STAGE_RAMP:
            _rest(v, pos, 0.0)
        _position_by_sticks(v, q, pos, vel, yaw, dt)
    elif mode == ALTCTL:
        if v.stage < STAGE_RAMP:
            _rest(v, pos, 0.0)
        up = _stick(v.stick_up)
        _free(v)
        _height_by_stick(
            v, q, pos, up * (q.MPC_Z_VEL_MAX_UP if up > 0.0 else q.MPC_Z_VEL_MAX_DN), dt
        )
        _follow_trajectory(v, 2, 3)
        v.on_trajectory = False  # not horizontally
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
        _rates_by_sticks(v, q)
        v.sp_thrust = _thrust_by_stick(v)
    elif added_law(mode, v, q, e, t_us, dt):
        wants_up = _set_point_wants_up(v, pos)
    else:
        v.sink_max = max(v.sink_max, AUTO_MARGIN * q.MPC_Z_V_AUTO_DN)
        if v.descend:
            _descend(v, q)
        else:
            step = _task_step(age_us)
            if begins or step > 0.0:
                _auto(v, q, pos, step)
            _follow_trajectory(v, 0, 3)
            if v.target_type == TARGET_LAND:
                v.sp_pos[2] = math.nan
        if (
            v.watch != WATCH_NOTHING
            and v.target_type != TARGET_ORBIT
            and age_us % WATCH_US < LOOP_US
        ):
            _watch(v, q, t_us, pos, yaw)
        wants_up = v.wants_up
    raise_timed_events(v, q, t_us)
    return wants_up


@njit
def raise_timed_events(v: np.void, q: np.void, t_us: int) -> None:
    """Raises events where offboard set-points are missing, or a failsafe has held for long enough.

    Args:
        v: Record of VEHICLE_STATUS.
        q: Record of its parameters.
        t_us: Simulated time [us].
    """
    if v.mode == OFFBOARD and v.armed and (t_us - v.offboard_t) * 1e-6 > q.COM_OF_LOSS_T:
        v.events |= EVENT_OFFBOARD_LOST
    if v.failsafe and v.mode == LOITER and (t_us - v.mode_t) * 1e-6 > q.COM_FAIL_ACT_T:
        v.events |= EVENT_FAILSAFE_DELAY_OVER


@fleet_kernel
def _navigate(status, parameters, t_us, epoch_us, estimates, sensors, actuators, dt):
    """One pass over the fleet; returns the union of the events."""
    events = 0
    for i in range(status.shape[0]):
        v, q, e = status[i], parameters[i], estimates[i]
        if v.vehicle_type != MULTICOPTER:
            continue
        age_us = t_us - epoch_us[i]
        acc_up = math.nan
        if age_us != 0:
            accel = at_centre(sensors[i].accel, e.imu_pos, e.ang_vel, v.last_rate, dt)
            acc_up = _filter_acceleration(v, e.quat, accel, e.accel_bias, dt)
        thrust = thrust_normalised(v, v.sp_thrust)
        due, by_trajectory = age_us % LOOP_US == 0, _by_trajectory(v)
        if due:
            estimate_hover_thrust(v, q, e.pos, e.vel, acc_up, thrust)
        elif by_trajectory:
            if v.sp_kind == TRAJECTORY:
                v.sp_kind = ATTITUDE  # the attitude set-point of the velocity loop is held
            events |= v.events
            continue
        step = LOOP_S if by_trajectory else dt
        wants_up = False
        if v.armed or v.mode_stage == NEW_MODE:
            wants_up = _navigate_one(v, q, e, t_us, age_us, actuators[i], step)
        else:
            v.sp_kind = NO_SET_POINT
        sinks = v.sp_vel[2] <= -SINKS * q.LNDMC_Z_VEL_MAX  # NaN: it does not
        ground.take_off(v, q, t_us, wants_up, step)
        ground.detect(v, q, t_us, e.vel, e.ang_vel, thrust, sinks)
        events |= v.events
    return events


@njit
def _filter_acceleration(v, quat, accel, bias, dt):
    """World acceleration from the accelerometer, low-passed, for the velocity loop's damping.

    Returns its vertical part before the filter [m/s^2].
    """
    ax, ay, az = rotate(
        quat[0],
        quat[1],
        quat[2],
        quat[3],
        accel[0] - bias[0],
        accel[1] - bias[1],
        accel[2] - bias[2],
    )
    if not math.isfinite(ax + ay + az):  # the estimator has no attitude yet
        return math.nan
    gain = dt / (ACC_FILTER_S + dt)
    v.acc_filtered[0] += gain * (ax - v.acc_filtered[0])
    v.acc_filtered[1] += gain * (ay - v.acc_filtered[1])
    v.acc_filtered[2] += gain * (az - GRAVITY - v.acc_filtered[2])
    return az - GRAVITY


@fleet_kernel
def _follow_resets(status, estimates, seen):
    for i in range(status.shape[0]):
        if estimates[i].reset_count != seen[i]:
            seen[i] = estimates[i].reset_count
            for k in range(3):
                status[i].smooth_pos[k] += estimates[i].reset_pos[k]


class Navigator(Memory):
    """Modes of a fleet."""

    MEMORY = ("_resets",)

    def __init__(
        self, status: np.ndarray, parameters: ParameterStore, estimator: Estimator, laws: Laws = ()
    ):
        """The multicopters of a fleet.

        Args:
            status: (N,) of VEHICLE_STATUS, whose set-points it writes.
            parameters: Of the fleet.
            estimator: Its state.
            laws: Control laws of further modes; see modes.flight_mode.FlightMode.
        """
        self._status, self._parameters, self._estimator = status, parameters, estimator
        self._navigate = with_laws(laws, _navigate, _navigate_one)
        self._resets = estimator.reset_count.copy()
        self.remember_start()

    def step(self, clock: StepClock, sensors: SensorBatch, actuators: np.ndarray, dt: float) -> int:
        """Writes the set-points of every vehicle; returns the union of the EVENT_ bits raised.

        Args:
            clock: Time of the flight stack.
            sensors: Readings of this step.
            actuators: (N, A) commands of offboard set-points of that level.
            dt: Length of the step [s].
        """
        return self._navigate(
            self._status,
            self._parameters.values,
            clock.t_us,
            clock.epoch_us,
            self._estimator.records,
            sensors.records,
            actuators,
            dt,
        )

    def follow_resets(self) -> None:
        """Where an estimate was reset, the trajectory that the vehicle follows is shifted along."""
        _follow_resets(self._status, self._estimator.records, self._resets)

    def begin(self, i: int) -> None:
        """Enters an AUTO mode at once, so that the target set next is not overwritten."""
        v, e = self._status[i], self._estimator
        _begin_mode(v, e.pos[i], e.vel[i], e.yaw(i))

    def fly_to(
        self,
        i: int,
        position: npt.ArrayLike,
        kind: int,
        *,
        yaw: float = math.nan,
        accept: float | None = None,
        previous: npt.ArrayLike = OPEN,
        following: npt.ArrayLike = OPEN,
        speed: float = math.nan,
        radius: float = 0.0,
    ) -> None:
        """Sets the target of an AUTO mode; nothing is watched for yet.

        Args:
            i: The vehicle.
            position: (3,) of the target [m].
            kind: A TARGET_.
            yaw: Heading [rad]; NaN = along the way.
            accept: Its acceptance radius [m], inside which the corner is cut; None =
                NAV_ACC_RAD.
            previous: (3,) where the leg begins [m]; NaN = at the vehicle.
            following: (3,) where the next leg ends [m]; NaN = stop at the target.
            speed: Horizontal [m/s]; NaN = MPC_XY_CRUISE, or FW_AIRSPD_TRIM of a fixed wing.
            radius: Of a fixed wing's circle, positive = clockwise [m]; 0 = NAV_LOITER_RAD.
        """
        v = self._status[i]
        v["orbit_radius"] = radius
        v["target"], v["previous"], v["following"] = position, previous, following
        v["target_type"], v["target_yaw"], v["target_speed"] = kind, yaw, speed
        v["accept"] = self._parameters.get(i, "NAV_ACC_RAD") if accept is None else accept
        v["watch"], v["lands_next"] = WATCH_NOTHING, False

    def watch(
        self,
        i: int,
        kind: int = WATCH_PLACE,
        *,
        reach: float | None = None,
        height: float | None = None,
        hold: float = 0.0,
        faced: bool = False,
    ) -> None:
        """Raises EVENT_TARGET_REACHED once the target of vehicle i is reached.

        Args:
            i: The vehicle.
            kind: A WATCH_.
            reach: Horizontal distance that counts as reached [m]; None = that of acceptance.
            height: And vertical one [m]; None = NAV_MC_ALT_RAD.
            hold: And for how long it stays there [s].
            faced: Whatever the heading; else it must be within MIS_YAW_ERR of a target's.
        """
        v = self._status[i]
        v["watch"], v["hold_s"] = kind, max(0.0, hold)  # no time where hold is NaN
        v["reach"] = v["accept"] if reach is None else reach
        v["reach_height"] = self._parameters.get(i, "NAV_MC_ALT_RAD") if height is None else height
        v["reached_t"], v["faced"] = NEVER, faced

    def hold(self, i: int) -> None:
        """AUTO.LOITER: stays where it loiters, or where it can come to rest."""
        v = self._status[i]
        e, get = self._estimator, self._parameters.get
        circles = v["vehicle_type"] == FIXED_WING
        near = get(i, "NAV_ACC_RAD") + (get(i, "NAV_LOITER_RAD") if circles else 0.0)
        loiters = (
            (circles or v["on_trajectory"])
            and not v["landed"]
            and v["target_type"] == TARGET_LOITER
            and math.hypot(*(v["target"] - e.pos[i])[:2]) <= near
        )
        self.begin(i)
        if loiters:
            v["watch"] = WATCH_NOTHING
            return
        if circles:
            self.fly_to(i, e.pos[i], TARGET_LOITER)
            return
        speed = math.hypot(*e.vel[i, :2])
        position = e.pos[i] + (speed / (2.0 * get(i, "MPC_ACC_HOR")) + BRAKE_S) * np.array(
            [*e.vel[i, :2], 0.0]
        )
        self.fly_to(i, position, TARGET_LOITER)

    def land(self, i: int) -> None:
        """AUTO.LAND: straight down; a fixed wing descends on a circle to the height of home."""
        self.begin(i)
        v, position = self._status[i], self._estimator.pos[i].copy()
        if v["vehicle_type"] == FIXED_WING and v["vtol_type"] == NOT_VTOL:
            position[2] = v["home"][2]
        self.fly_to(i, position, TARGET_LAND)

    def take_off(self, i: int, height: float) -> None:
        """AUTO.TAKEOFF: straight up, or straight on, to a height, world z [m]."""
        self.begin(i)
        position = self._estimator.pos[i].copy()
        position[2] = max(height, position[2])
        self.fly_to(i, position, TARGET_TAKEOFF)
        self.watch(i, WATCH_HEIGHT, height=self.height_reached(i, position[2]))

    def height_reached(self, i: int, height: float) -> float:
        """How far below a take-off height, world z [m], it counts as reached [m]."""
        above = height - self._status["home"][i, 2]
        radius = self._parameters.get(i, "NAV_MC_ALT_RAD")
        return 0.5 * above if 0.0 < above < radius else radius

    def reposition(self, i: int, target: npt.ArrayLike, yaw: float, speed: float) -> None:
        """A new position (3,) [m] to hold in AUTO.LOITER; NaN keeps the present one."""
        v = self._status[i]
        position = np.where(np.isfinite(target), target, v["target"])
        self.fly_to(i, position, TARGET_LOITER, yaw=yaw, speed=speed if speed > 0 else math.nan)
