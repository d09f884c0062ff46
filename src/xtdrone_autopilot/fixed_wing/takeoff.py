"""Take-off of a fixed wing, from a runway or by launch.

As PX4's FixedwingPositionControl, RunwayTakeoff and LaunchDetector.
"""

import math

from xtdrone_core.modes import Mode
from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp
from .guidance import (
    CLEARANCE_ALTITUDE_BUFFER,
    Motion,
    control_energy,
    energy_demand,
    fly_line,
    level_near_ground,
    set_airspeed,
    turn_min_airspeed,
)
from .state import (
    CLAMPED_TO_RUNWAY,
    CLIMBOUT,
    FLY,
    LAUNCHED,
    TAKEOFF_NOT_BEGUN,
    THROTTLE_RAMP,
    WAITING_FOR_LAUNCH,
)

MISSION = int(Mode.MISSION)
# Largest deviation of the pitch set-point from RWTO_PSP on the runway [rad].
RUNWAY_PITCH_MARGIN = math.radians(0.01)


@njit
def take_off(
    vehicle: Record,
    wing: Record,
    params: Record,
    motion: Motion,
    t_us: int,
    accel: float,
    dt: float,
) -> None:
    """Writes roll, pitch and throttle of a take-off to vehicle.target.

    See auto.fly_auto() for the arguments.
    """
    if wing.takeoff == TAKEOFF_NOT_BEGUN:
        _begin(vehicle, wing, params, motion, t_us)
    if params.RWTO_TKOFF:
        _advance_runway_takeoff(vehicle, wing, params, motion, t_us)
    else:
        _advance_launch(wing, params, motion, t_us, accel, dt)
    wing.hold_integrals = wing.takeoff in (THROTTLE_RAMP, CLAMPED_TO_RUNWAY, WAITING_FOR_LAUNCH)
    if wing.takeoff == WAITING_FOR_LAUNCH:
        wing.roll, wing.pitch, wing.throttle = (
            0.0,
            math.radians(params.FW_TKO_PITCH_MIN),
            params.FW_THR_IDLE,
        )
        return
    min_airspeed = turn_min_airspeed(wing, params)
    takeoff_airspeed = params.FW_TKO_AIRSPD if params.FW_TKO_AIRSPD > 0.0 else min_airspeed
    min_airspeed = min(min_airspeed, takeoff_airspeed)
    set_airspeed(wing, params, motion, takeoff_airspeed, min_airspeed, True, dt)
    on_runway = wing.takeoff in (THROTTLE_RAMP, CLAMPED_TO_RUNWAY)
    course = _takeoff_course(vehicle, wing)
    fly_line(
        wing,
        params,
        motion,
        (wing.start_pos[0], wing.start_pos[1]),
        (math.cos(course), math.sin(course)),
        params.RWTO_NPFG_PERIOD if on_runway else params.NPFG_PERIOD,
    )
    low, high = _pitch_limits(wing, params, t_us)
    max_throttle = params.FW_THR_IDLE if wing.takeoff == LAUNCHED else params.FW_THR_MAX
    demand = energy_demand(
        wing,
        params,
        vehicle.target[2] + CLEARANCE_ALTITUDE_BUFFER,
        math.nan,
        wing.airspeed_ref / wing.eas2tas,
        min(min_airspeed, params.FW_AIRSPD_MIN),
        (low, high),
        (min(params.FW_THR_MIN, max_throttle), max_throttle),
        (params.FW_T_CLMB_MAX, params.FW_T_SINK_R_SP),
        params.FW_T_ALT_TC,
        True,
    )
    control_energy(wing, params, motion, demand, t_us, dt)
    if on_runway:
        wing.roll, wing.pitch = 0.0, math.radians(params.RWTO_PSP)
        wing.pitch_integral = wing.throttle_integral = 0.0
    wing.throttle = _throttle(wing, params, t_us)
    level_near_ground(wing, params, motion, wing.start_height)


@njit
def _begin(vehicle: Record, wing: Record, params: Record, motion: Motion, t_us: int) -> None:
    """Begins a take-off from the present position, heading and phase."""
    wing.start_pos[0], wing.start_pos[1] = motion.pos
    wing.start_height, wing.start_heading = motion.height, motion.heading
    wing.launch_s, wing.airspeed_sp = 0.0, math.nan
    wing.takeoff_t = t_us
    if not vehicle.landed:
        wing.takeoff = FLY
    elif params.RWTO_TKOFF:
        wing.takeoff = THROTTLE_RAMP
    else:
        wing.takeoff = WAITING_FOR_LAUNCH if params.FW_LAUN_DETCN_ON else FLY


@njit
def _takeoff_course(vehicle: Record, wing: Record) -> float:
    """Returns the course: in a mission towards the item, else the heading at the start [rad]."""
    north, east = vehicle.target[1] - wing.start_pos[0], vehicle.target[0] - wing.start_pos[1]
    if vehicle.mode == MISSION and math.hypot(north, east) > 1e-6:
        return math.atan2(east, north)
    return wing.start_heading


@njit
def _advance_runway_takeoff(
    vehicle: Record, wing: Record, params: Record, motion: Motion, t_us: int
) -> None:
    """Advances the phase of a take-off from a runway."""
    if wing.takeoff == THROTTLE_RAMP and t_us - wing.takeoff_t > params.RWTO_RAMP_TIME * 1e6:
        wing.takeoff = CLAMPED_TO_RUNWAY
    elif wing.takeoff == CLAMPED_TO_RUNWAY:
        takeoff_airspeed = (
            params.FW_TKO_AIRSPD if params.FW_TKO_AIRSPD > 0.0 else turn_min_airspeed(wing, params)
        )
        rotation_airspeed = (
            min(params.RWTO_ROT_AIRSPD, takeoff_airspeed)
            if params.RWTO_ROT_AIRSPD > 0.0
            else 0.9 * takeoff_airspeed
        )
        if wing.airspeed > rotation_airspeed:
            wing.takeoff, wing.takeoff_t = CLIMBOUT, t_us
    elif wing.takeoff == CLIMBOUT and motion.height > vehicle.target[2]:
        wing.takeoff = FLY


@njit
def _advance_launch(
    wing: Record, params: Record, motion: Motion, t_us: int, accel: float, dt: float
) -> None:
    """Advances the phase of a launch by hand or catapult; accel is along body x [m/s^2]."""
    if wing.takeoff == WAITING_FOR_LAUNCH:
        wing.launch_s = wing.launch_s + dt if accel > params.FW_LAUN_AC_THLD else 0.0
        if wing.launch_s <= params.FW_LAUN_AC_T:
            return
        wing.takeoff, wing.takeoff_t = LAUNCHED, t_us
        wing.start_pos[0], wing.start_pos[1] = motion.pos
        wing.start_height, wing.start_heading = motion.height, motion.heading
    if wing.takeoff == LAUNCHED and t_us - wing.takeoff_t >= params.FW_LAUN_MOT_DEL * 1e6:
        wing.takeoff = FLY


@njit
def _phase_fraction(wing: Record, t_us: int, seconds: float) -> float:
    """Returns the elapsed fraction of a duration [s] since the phase began, 0..1."""
    return clamp((t_us - wing.takeoff_t) * 1e-6 / max(seconds, 1e-3), 0.0, 1.0)


@njit
def _pitch_limits(wing: Record, params: Record, t_us: int) -> tuple[float, float]:
    """Returns the pitch limits (lower, upper) of the phase [rad]."""
    low, high = math.radians(params.FW_P_LIM_MIN), math.radians(params.FW_P_LIM_MAX)
    taxi = math.radians(params.RWTO_PSP)
    if wing.takeoff in (THROTTLE_RAMP, CLAMPED_TO_RUNWAY):
        return taxi - RUNWAY_PITCH_MARGIN, taxi + RUNWAY_PITCH_MARGIN
    if wing.takeoff == CLIMBOUT:
        fraction = _phase_fraction(wing, t_us, params.RWTO_ROT_TIME)
        climb = math.radians(params.FW_TKO_PITCH_MIN)
        return (
            taxi - RUNWAY_PITCH_MARGIN + fraction * (climb - taxi + RUNWAY_PITCH_MARGIN),
            taxi + RUNWAY_PITCH_MARGIN + fraction * (high - taxi - RUNWAY_PITCH_MARGIN),
        )
    return (low if params.RWTO_TKOFF else math.radians(params.FW_TKO_PITCH_MIN)), high


@njit
def _throttle(wing: Record, params: Record, t_us: int) -> float:
    """Returns the throttle of the phase, 0..1."""
    if wing.takeoff == THROTTLE_RAMP:
        return params.FW_THR_IDLE + _phase_fraction(wing, t_us, params.RWTO_RAMP_TIME) * (
            params.RWTO_MAX_THR - params.FW_THR_IDLE
        )
    if wing.takeoff == CLAMPED_TO_RUNWAY:
        return params.RWTO_MAX_THR
    if wing.takeoff == LAUNCHED:
        return params.FW_THR_IDLE
    if wing.takeoff == CLIMBOUT:
        fraction = _phase_fraction(wing, t_us, params.RWTO_ROT_TIME)
        return fraction * wing.throttle + (1.0 - fraction) * params.RWTO_MAX_THR
    return wing.throttle
