"""Take-off and landing: stages of a take-off, detection of flight and landing, disarming.

After arming the rotors spool up for COM_SPOOLUP_TIME. A take-off then ramps the climb rate from
the one at which the velocity loop gives no thrust to the set-point, in MPC_TKO_RAMP_T. On the
way down ground contact, probably landed and landed follow each other, each after a third of
LNDMC_TRIG_TIME. All as in PX4's mc_pos_control, land_detector and commander.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
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

TILT_LIMIT_RATE = 0.2  # growth of the largest tilt after take-off [rad/s]
STICKS_THRUST_MIN = 0.09  # a pilot's thrust below this may be a landing, of 0..1
# Fraction of the range from the smallest to the hover thrust below which a thrust is low: with the
# hover thrust estimated, as the parameter says, and for 'probably landed'.
LOW_ESTIMATED, LOW_GIVEN, LOW_LANDED = 0.6, 0.3, 0.1
ON_GROUND = 2.5  # limits of motion are this much wider once landed


@njit
def _next_stage(vehicle: Record, params: Record, t_us: int, takeoff_requested: bool) -> None:
    """Goes through the stages of a take-off."""
    if not vehicle.armed:
        vehicle.stage = STAGE_DISARMED
        return
    if vehicle.sp_kind != TRAJECTORY:  # flown by thrust: no ramp
        vehicle.stage, vehicle.ramp = STAGE_FLIGHT, 1.0
        return
    if vehicle.stage == STAGE_DISARMED:
        vehicle.stage = STAGE_SPOOL_UP
    if vehicle.stage == STAGE_SPOOL_UP and t_us - vehicle.armed_t >= params.COM_SPOOLUP_TIME * 1e6:
        vehicle.stage = STAGE_READY
    if vehicle.stage == STAGE_READY and takeoff_requested:
        vehicle.stage, vehicle.ramp = STAGE_RAMP, 0.0
    if vehicle.stage == STAGE_RAMP and vehicle.ramp >= 1.0:
        vehicle.stage = STAGE_FLIGHT
    elif vehicle.stage == STAGE_FLIGHT and vehicle.landed:
        vehicle.stage = STAGE_READY


@njit
def _stay(vehicle: Record) -> None:
    """No set-points: the rotors idle and nothing is corrected."""
    vehicle.sp_kind = NO_SET_POINT
    for k in range(3):
        vehicle.sp_pos[k] = math.nan
        vehicle.sp_vel[k] = math.nan
        vehicle.sp_acc[k] = math.nan
        vehicle.vel_integral[k] = 0.0


@njit
def take_off(
    vehicle: Record, params: Record, t_us: int, takeoff_requested: bool, dt: float
) -> None:
    """Stage and limits of a take-off; on the ground it takes the set-points away.

    Args:
        vehicle: Record of VEHICLE_STATUS, with the set-points of its mode.
        params: Record of its parameters.
        t_us: Simulated time [us].
        takeoff_requested: Whether the mode requests a take-off.
        dt: Length of the step [s].
    """
    _next_stage(vehicle, params, t_us, takeoff_requested)
    flying = vehicle.stage == STAGE_FLIGHT
    on_ground = vehicle.stage < STAGE_RAMP
    if vehicle.stage == STAGE_RAMP:
        vehicle.ramp = (
            vehicle.ramp + dt / params.MPC_TKO_RAMP_T if dt < params.MPC_TKO_RAMP_T else 1.0
        )
        # From the velocity error that takes all thrust away.
        minimum = -GRAVITY / max(params.MPC_Z_VEL_P_ACC, 0.01)
        vehicle.climb_max = minimum + min(vehicle.ramp, 1.0) * (vehicle.climb_max - minimum)
        if math.isfinite(vehicle.sp_vel[2]):
            vehicle.sp_acc[2] = math.nan
    elif on_ground:
        vehicle.ramp = 0.0
    if vehicle.sp_kind == TRAJECTORY and (on_ground or (flying and vehicle.contact)):
        _stay(vehicle)
    elif not vehicle.armed:
        vehicle.sp_kind = NO_SET_POINT
    tilt = math.radians(params.MPC_TILTMAX_AIR if flying else params.MPC_TILTMAX_LND)
    step = TILT_LIMIT_RATE * dt
    vehicle.tilt_limit = min(max(tilt, vehicle.tilt_limit - step), vehicle.tilt_limit + step)


@njit
def _held(now: bool, since: int, t_us: int) -> int:
    """Since when a condition holds without a break [us]; NEVER = it does not hold."""
    if not now:
        return np.int64(NEVER)  # type: ignore[return-value]  # compiled, it is an int
    return min(since, t_us)


@njit
def _low_thrust(params: Record, hover: float, fraction: float) -> float:
    return params.MPC_THR_MIN + (hover - params.MPC_THR_MIN) * fraction


@njit
def detect(
    vehicle: Record,
    params: Record,
    t_us: int,
    vel: np.ndarray,
    rate: np.ndarray,
    thrust: float,
    sinks: bool,
) -> None:
    """Detects landing and take-off, and when to disarm.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        params: Record of its parameters.
        t_us: Simulated time [us].
        vel: (3,) estimated velocity [m/s].
        rate: (3,) body rates [rad/s].
        thrust: Collective, 0..1.
        sinks: Whether the mode descends.
    """
    if not vehicle.armed:
        vehicle.contact = vehicle.maybe_landed = vehicle.landed = True
        vehicle.contact_t = vehicle.maybe_landed_t = vehicle.still_t = -NEVER
        vehicle.landed_t = t_us
        vehicle.taken_off = False
        vehicle.idle_t = NEVER
        return
    by_height = vehicle.sp_kind == TRAJECTORY or vehicle.sp_kind == NO_SET_POINT
    third = params.LNDMC_TRIG_TIME * 1e6 / 3.0
    wider = ON_GROUND if vehicle.landed else 1.0

    low = LOW_ESTIMATED if vehicle.hover_valid else LOW_GIVEN
    contact = thrust <= _low_thrust(params, vehicle.hover, low)
    if by_height and not vehicle.maybe_landed and not vehicle.landed:
        contact = contact and sinks
    contact = contact and abs(vel[2]) < params.LNDMC_Z_VEL_MAX * wider
    contact = contact and (vehicle.descend or math.hypot(vel[0], vel[1]) <= params.LNDMC_XY_VEL_MAX)
    vehicle.contact_t = _held(contact, vehicle.contact_t, t_us)
    vehicle.contact = t_us - vehicle.contact_t >= third

    minimum = _low_thrust(params, vehicle.hover, LOW_LANDED) if by_height else STICKS_THRUST_MIN
    turning = math.hypot(rate[0], rate[1]) > math.radians(params.LNDMC_ROT_MAX) * wider
    vehicle.maybe_landed_t = _held(
        vehicle.contact and thrust <= minimum and not turning, vehicle.maybe_landed_t, t_us
    )
    vehicle.maybe_landed = t_us - vehicle.maybe_landed_t >= third

    vehicle.still_t = _held(vehicle.maybe_landed, vehicle.still_t, t_us)
    landed = t_us - vehicle.still_t >= third
    detected(vehicle, landed, t_us)
    disarm_when_idle(vehicle, params, t_us)


@njit
def detected(vehicle: Record, landed: bool, t_us: int) -> None:
    """Raises the event of a landing or take-off that is detected now."""
    if landed != vehicle.landed:
        vehicle.landed = landed
        vehicle.landed_t = t_us
        vehicle.events |= EVENT_LANDED if landed else EVENT_TAKEN_OFF
        vehicle.taken_off = vehicle.taken_off or not landed


@njit
def disarm_when_idle(vehicle: Record, params: Record, t_us: int) -> None:
    """Raises an event where the vehicle has been on the ground for long enough.

    In a mission that goes on the wait is neither begun nor ended, as in PX4: a vehicle that lands
    at the end of one is disarmed at once, since it was on the ground when it was armed.
    """
    if vehicle.taken_off:
        if params.COM_DISARM_LAND <= 0.0 or vehicle.in_mission:
            return
        vehicle.idle_t = _held(vehicle.landed, vehicle.idle_t, t_us)
        if t_us - vehicle.idle_t >= params.COM_DISARM_LAND * 1e6:
            vehicle.events |= EVENT_DISARM_LANDED
    elif params.COM_DISARM_PRFLT > 0.0:
        vehicle.idle_t = _held(True, vehicle.idle_t, t_us)
        if t_us - vehicle.idle_t >= params.COM_DISARM_PRFLT * 1e6:
            vehicle.events |= EVENT_DISARM_PREFLIGHT
