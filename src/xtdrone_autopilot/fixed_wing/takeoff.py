"""Take-off of a fixed wing, from a runway or from a launch.

As in PX4's FixedwingPositionControl, RunwayTakeoff and LaunchDetector.
"""

import math

import numpy as np

from xtdrone_core.modes import Mode
from xtdrone_dynamics.compiled import njit

from ..control.vector import clamp
from .guidance import (
    CLEARANCE,
    Motion,
    control_energy,
    demand,
    fly_line,
    least_airspeed,
    level_near_ground,
    set_airspeed,
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
TAXI_PITCH = math.radians(0.01)  # that the pitch may differ from RWTO_PSP on the runway [rad]


@njit
def take_off(
    v: np.void, w: np.void, q: np.void, m: Motion, t_us: int, accel: float, dt: float
) -> None:
    """Sets roll, pitch and throttle of a take-off to v.target.

    Arguments as of auto.fly_auto().
    """
    if w.takeoff == TAKEOFF_NOT_BEGUN:
        _begin(v, w, q, m, t_us)
    if q.RWTO_TKOFF:
        _roll_on(v, w, q, m, t_us)
    else:
        _wait_for_launch(w, q, m, t_us, accel, dt)
    w.integrators_rest = w.takeoff in (THROTTLE_RAMP, CLAMPED_TO_RUNWAY, WAITING_FOR_LAUNCH)
    if w.takeoff == WAITING_FOR_LAUNCH:
        w.roll, w.pitch, w.throttle = 0.0, math.radians(q.FW_TKO_PITCH_MIN), q.FW_THR_IDLE
        return
    least = least_airspeed(w, q)
    wanted = q.FW_TKO_AIRSPD if q.FW_TKO_AIRSPD > 0.0 else least
    least = min(least, wanted)
    set_airspeed(w, q, m, wanted, least, True, dt)
    on_runway = w.takeoff in (THROTTLE_RAMP, CLAMPED_TO_RUNWAY)
    course = _course(v, w)
    fly_line(
        w,
        q,
        m,
        (w.start[0], w.start[1]),
        (math.cos(course), math.sin(course)),
        q.RWTO_NPFG_PERIOD if on_runway else q.NPFG_PERIOD,
    )
    low, high = _pitch_limits(w, q, t_us)
    most = q.FW_THR_IDLE if w.takeoff == LAUNCHED else q.FW_THR_MAX
    d = demand(
        w,
        q,
        v.target[2] + CLEARANCE,
        math.nan,
        w.airspeed_ref / w.eas2tas,
        min(least, q.FW_AIRSPD_MIN),
        (low, high),
        (min(q.FW_THR_MIN, most), most),
        (q.FW_T_CLMB_MAX, q.FW_T_SINK_R_SP),
        q.FW_T_ALT_TC,
        True,
    )
    control_energy(w, q, m, d, t_us, dt)
    if on_runway:
        w.roll, w.pitch = 0.0, math.radians(q.RWTO_PSP)
        w.pitch_integral = w.throttle_integral = 0.0
    w.throttle = _throttle(w, q, t_us)
    level_near_ground(w, q, m, w.start_height)


@njit
def _begin(v, w, q, m, t_us):
    w.start[0], w.start[1] = m.pos
    w.start_height, w.start_heading = m.height, m.heading
    w.launch_s, w.airspeed_sp = 0.0, math.nan
    w.takeoff_t = t_us
    if not v.landed:
        w.takeoff = FLY
    elif q.RWTO_TKOFF:
        w.takeoff = THROTTLE_RAMP
    else:
        w.takeoff = WAITING_FOR_LAUNCH if q.FW_LAUN_DETCN_ON else FLY


@njit
def _course(v, w):
    """In a mission that from the start to the item, else the heading at the start [rad]."""
    north, east = v.target[1] - w.start[0], v.target[0] - w.start[1]
    if v.mode == MISSION and math.hypot(north, east) > 1e-6:
        return math.atan2(east, north)
    return w.start_heading


@njit
def _roll_on(v, w, q, m, t_us):
    """The next phase of a take-off from a runway."""
    if w.takeoff == THROTTLE_RAMP and t_us - w.takeoff_t > q.RWTO_RAMP_TIME * 1e6:
        w.takeoff = CLAMPED_TO_RUNWAY
    elif w.takeoff == CLAMPED_TO_RUNWAY:
        wanted = q.FW_TKO_AIRSPD if q.FW_TKO_AIRSPD > 0.0 else least_airspeed(w, q)
        rotates = min(q.RWTO_ROT_AIRSPD, wanted) if q.RWTO_ROT_AIRSPD > 0.0 else 0.9 * wanted
        if w.airspeed > rotates:
            w.takeoff, w.takeoff_t = CLIMBOUT, t_us
    elif w.takeoff == CLIMBOUT and m.height > v.target[2]:
        w.takeoff = FLY


@njit
def _wait_for_launch(w, q, m, t_us, accel, dt):
    """The next phase of a take-off by hand or catapult."""
    if w.takeoff == WAITING_FOR_LAUNCH:
        w.launch_s = w.launch_s + dt if accel > q.FW_LAUN_AC_THLD else 0.0
        if w.launch_s <= q.FW_LAUN_AC_T:
            return
        w.takeoff, w.takeoff_t = LAUNCHED, t_us
        w.start[0], w.start[1] = m.pos
        w.start_height, w.start_heading = m.height, m.heading
    if w.takeoff == LAUNCHED and t_us - w.takeoff_t >= q.FW_LAUN_MOT_DEL * 1e6:
        w.takeoff = FLY


@njit
def _since(w, t_us, seconds):
    """Share of a duration that has passed since the phase began."""
    return clamp((t_us - w.takeoff_t) * 1e-6 / max(seconds, 1e-3), 0.0, 1.0)


@njit
def _pitch_limits(w, q, t_us):
    low, high = math.radians(q.FW_P_LIM_MIN), math.radians(q.FW_P_LIM_MAX)
    taxi = math.radians(q.RWTO_PSP)
    if w.takeoff in (THROTTLE_RAMP, CLAMPED_TO_RUNWAY):
        return taxi - TAXI_PITCH, taxi + TAXI_PITCH
    if w.takeoff == CLIMBOUT:
        share = _since(w, t_us, q.RWTO_ROT_TIME)
        climb = math.radians(q.FW_TKO_PITCH_MIN)
        return (
            taxi - TAXI_PITCH + share * (climb - taxi + TAXI_PITCH),
            taxi + TAXI_PITCH + share * (high - taxi - TAXI_PITCH),
        )
    return (low if q.RWTO_TKOFF else math.radians(q.FW_TKO_PITCH_MIN)), high


@njit
def _throttle(w, q, t_us):
    if w.takeoff == THROTTLE_RAMP:
        return q.FW_THR_IDLE + _since(w, t_us, q.RWTO_RAMP_TIME) * (q.RWTO_MAX_THR - q.FW_THR_IDLE)
    if w.takeoff == CLAMPED_TO_RUNWAY:
        return q.RWTO_MAX_THR
    if w.takeoff == LAUNCHED:
        return q.FW_THR_IDLE
    if w.takeoff == CLIMBOUT:
        share = _since(w, t_us, q.RWTO_ROT_TIME)
        return share * w.throttle + (1.0 - share) * q.RWTO_MAX_THR
    return w.throttle
