"""On and off the ground: stages of a take-off, detection of take-off and landing, disarming.

After arming the rotors spool up for COM_SPOOLUP_TIME. A take-off then ramps the climb rate from
the one at which the velocity loop gives no thrust to the one wanted, in MPC_TKO_RAMP_T. On the
way down ground contact, probably landed and landed follow each other, each after a third of
LNDMC_TRIG_TIME. All as in PX4's mc_pos_control, land_detector and commander.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY

from ..state.vehicle_status import (
    EVENT_DISARM_LANDED,
    EVENT_DISARM_PREFLIGHT,
    EVENT_LANDED,
    EVENT_TAKEN_OFF,
    NEVER,
    NO_SET_POINT,
    STAGE_DISARMED,
    STAGE_FLIGHT,
    STAGE_RAMP,
    STAGE_READY,
    STAGE_SPOOL_UP,
    TRAJECTORY,
)

TILT_LIMIT_RATE = 0.2  # at which the largest tilt grows after take-off [rad/s]
STICKS_THRUST_MIN = 0.09  # a pilot's thrust below this may be a landing, of 0..1
# Share of the way from the smallest to the hover thrust below which a thrust is low: with the
# hover thrust estimated, as the parameter says, and for 'probably landed'.
LOW_ESTIMATED, LOW_GIVEN, LOW_LANDED = 0.6, 0.3, 0.1
ON_GROUND = 2.5  # limits of motion are this much wider once landed


@njit
def _next_stage(v, q, t_us, wants_up):
    """Goes through the stages of a take-off."""
    if not v.armed:
        v.stage = STAGE_DISARMED
        return
    if v.sp_kind != TRAJECTORY:  # flown by thrust: no ramp
        v.stage, v.ramp = STAGE_FLIGHT, 1.0
        return
    if v.stage == STAGE_DISARMED:
        v.stage = STAGE_SPOOL_UP
    if v.stage == STAGE_SPOOL_UP and t_us - v.armed_t >= q.COM_SPOOLUP_TIME * 1e6:
        v.stage = STAGE_READY
    if v.stage == STAGE_READY and wants_up:
        v.stage, v.ramp = STAGE_RAMP, 0.0
    if v.stage == STAGE_RAMP and v.ramp >= 1.0:
        v.stage = STAGE_FLIGHT
    elif v.stage == STAGE_FLIGHT and v.landed:
        v.stage = STAGE_READY


@njit
def _stay(v):
    """No set-points: the rotors idle and nothing is corrected."""
    v.sp_kind = NO_SET_POINT
    for k in range(3):
        v.sp_pos[k] = math.nan
        v.sp_vel[k] = math.nan
        v.sp_acc[k] = math.nan
        v.vel_integral[k] = 0.0


@njit
def take_off(v: np.void, q: np.void, t_us: int, wants_up: bool, dt: float) -> None:
    """Stage and limits of a take-off; on the ground it takes the set-points away.

    Args:
        v: Record of VEHICLE_STATUS, with the set-points of its mode.
        q: Record of its parameters.
        t_us: Simulated time [us].
        wants_up: Whether the mode wants to climb.
        dt: Length of the step [s].
    """
    _next_stage(v, q, t_us, wants_up)
    flying = v.stage == STAGE_FLIGHT
    on_ground = v.stage < STAGE_RAMP
    if v.stage == STAGE_RAMP:
        v.ramp = v.ramp + dt / q.MPC_TKO_RAMP_T if dt < q.MPC_TKO_RAMP_T else 1.0
        # From the velocity error that takes all thrust away.
        least = -GRAVITY / max(q.MPC_Z_VEL_P_ACC, 0.01)
        v.climb_max = least + min(v.ramp, 1.0) * (v.climb_max - least)
        if math.isfinite(v.sp_vel[2]):
            v.sp_acc[2] = math.nan
    elif on_ground:
        v.ramp = 0.0
    if v.sp_kind == TRAJECTORY and (on_ground or (flying and v.contact)):
        _stay(v)
    elif not v.armed:
        v.sp_kind = NO_SET_POINT
    tilt = math.radians(q.MPC_TILTMAX_AIR if flying else q.MPC_TILTMAX_LND)
    step = TILT_LIMIT_RATE * dt
    v.tilt_limit = min(max(tilt, v.tilt_limit - step), v.tilt_limit + step)


@njit
def _held(now, since, t_us):
    """Since when a condition holds without a break [us]; NEVER = it does not hold."""
    if not now:
        return np.int64(NEVER)
    return min(since, t_us)


@njit
def _low_thrust(q, hover, share):
    return q.MPC_THR_MIN + (hover - q.MPC_THR_MIN) * share


@njit
def detect(
    v: np.void, q: np.void, t_us: int, vel: np.ndarray, rate: np.ndarray, thrust: float, sinks: bool
) -> None:
    """Detects landing and take-off, and when to disarm.

    Args:
        v: Record of VEHICLE_STATUS.
        q: Record of its parameters.
        t_us: Simulated time [us].
        vel: (3,) estimated velocity [m/s].
        rate: (3,) body rates [rad/s].
        thrust: Collective, 0..1.
        sinks: Whether the mode wants to descend.
    """
    if not v.armed:
        v.contact = v.maybe_landed = v.landed = True
        v.contact_t = v.maybe_landed_t = v.still_t = -NEVER
        v.landed_t = t_us
        v.taken_off = False
        v.idle_t = NEVER
        return
    by_height = v.sp_kind == TRAJECTORY or v.sp_kind == NO_SET_POINT
    third = q.LNDMC_TRIG_TIME * 1e6 / 3.0
    wider = ON_GROUND if v.landed else 1.0

    low = LOW_ESTIMATED if v.hover_valid else LOW_GIVEN
    contact = thrust <= _low_thrust(q, v.hover, low)
    if by_height and not v.maybe_landed and not v.landed:
        contact = contact and sinks
    contact = contact and abs(vel[2]) < q.LNDMC_Z_VEL_MAX * wider
    contact = contact and (v.descend or math.hypot(vel[0], vel[1]) <= q.LNDMC_XY_VEL_MAX)
    v.contact_t = _held(contact, v.contact_t, t_us)
    v.contact = t_us - v.contact_t >= third

    least = _low_thrust(q, v.hover, LOW_LANDED) if by_height else STICKS_THRUST_MIN
    turning = math.hypot(rate[0], rate[1]) > math.radians(q.LNDMC_ROT_MAX) * wider
    v.maybe_landed_t = _held(v.contact and thrust <= least and not turning, v.maybe_landed_t, t_us)
    v.maybe_landed = t_us - v.maybe_landed_t >= third

    v.still_t = _held(v.maybe_landed, v.still_t, t_us)
    landed = t_us - v.still_t >= third
    detected(v, landed, t_us)
    disarm_when_idle(v, q, t_us)


@njit
def detected(v: np.void, landed: bool, t_us: int) -> None:
    """Raises the event of a landing or take-off that is found out now."""
    if landed != v.landed:
        v.landed = landed
        v.landed_t = t_us
        v.events |= EVENT_LANDED if landed else EVENT_TAKEN_OFF
        v.taken_off = v.taken_off or not landed


@njit
def disarm_when_idle(v: np.void, q: np.void, t_us: int) -> None:
    """Raises an event where the vehicle has been on the ground for long enough.

    In a mission that goes on the wait is neither begun nor ended, as in PX4: a vehicle that lands
    at the end of one is disarmed at once, since it was on the ground when it was armed.
    """
    if v.taken_off:
        if q.COM_DISARM_LAND <= 0.0 or v.in_mission:
            return
        v.idle_t = _held(v.landed, v.idle_t, t_us)
        if t_us - v.idle_t >= q.COM_DISARM_LAND * 1e6:
            v.events |= EVENT_DISARM_LANDED
    elif q.COM_DISARM_PRFLT > 0.0:
        v.idle_t = _held(True, v.idle_t, t_us)
        if t_us - v.idle_t >= q.COM_DISARM_PRFLT * 1e6:
            v.events |= EVENT_DISARM_PREFLIGHT
