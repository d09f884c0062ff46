"""Landing of a fixed wing: approach along a glide slope or round a circle, then the flare.

As in PX4's FixedwingPositionControl.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..control.vector import clamp
from ..state.reasons import ABORTED_TERRAIN_LOST, ABORTED_WITHOUT_TERRAIN
from ..state.vehicle_status import EVENT_LANDING_ABORTED, NEVER
from . import npfg
from .guidance import (
    Motion,
    circle,
    control_energy,
    demand,
    fly_line,
    least_airspeed,
    level_near_ground,
    loiter_radius,
    set_airspeed,
)

NUDGE_RATE = 4.0  # at which the pilot moves the touch-down at full stick [m/s]
NUDGE_DEADZONE = 0.15
TOUCHDOWN_S = 0.5  # in which the pitch goes to RWTO_PSP after touch-down [s]
NO_TERRAIN = 0  # FW_LND_USETER: the ground is as high as the touch-down
FIRST_US, LOST_US = 10_000_000, 1_000_000  # without the terrain: at first, later [us]
FOLLOWED = 2  # the glide slope begins at the terrain's height


@njit
def land(v: np.void, w: np.void, q: np.void, m: Motion, t_us: int, dt: float) -> None:
    """Sets roll, pitch and throttle of a landing at v.target.

    It is straight from v.previous, or on a circle round the target where there is none.

    Arguments as of auto.fly_auto().
    """
    straight = math.isfinite(v.previous[0])
    if not w.landing:
        _begin(v, w, q, m, t_us)
    least = least_airspeed(w, q)
    wanted = q.FW_LND_AIRSPD if q.FW_LND_AIRSPD > 0.0 else least
    least = min(least, wanted)
    set_airspeed(w, q, m, wanted, least, False, dt)
    least = min(least, q.FW_AIRSPD_MIN)
    ground = _ground(v, w, q, m, straight, t_us)
    if not w.flaring and m.height < ground + max(-q.FW_LND_FL_TIME * m.climb, q.FW_LND_FLALT):
        w.flaring, w.flare_t = True, t_us
        w.flare_rate, w.flare_throttle = m.climb, w.throttle
    share = 0.0
    if w.flaring:
        share = clamp((t_us - w.flare_t) * 1e-6 / q.FW_LND_FL_TIME, 0.0, 1.0)
    period = share * q.RWTO_NPFG_PERIOD + (1.0 - share) * q.NPFG_PERIOD
    if straight:
        height, slope = _approach(v, w, q, m, ground, period, dt)
        rate = math.nan
    else:
        circle(w, q, m, (v.target[1], v.target[0]), loiter_radius(v, q), period)
        height, slope = m.height, math.radians(q.FW_LND_ANG)
        rate = -wanted * slope / math.hypot(slope, 1.0)
    airspeed = w.airspeed_ref / w.eas2tas
    if w.flaring:
        _flare(w, q, m, height, airspeed, least, share, t_us, dt)
    else:
        sink = min(max(wanted * slope / math.hypot(slope, 1.0), q.FW_T_SINK_R_SP), q.FW_T_SINK_MAX)
        d = demand(
            w,
            q,
            height,
            rate,
            airspeed,
            least,
            (math.radians(q.FW_P_LIM_MIN), math.radians(q.FW_P_LIM_MAX)),
            (q.FW_THR_MIN, q.FW_THR_MAX),
            (q.FW_T_CLMB_R_SP, sink),
            q.FW_LND_THRTC_SC * q.FW_T_ALT_TC,
            True,
        )
        control_energy(w, q, m, d, t_us, dt)
        if v.landed:
            w.throttle = q.FW_THR_IDLE
    level_near_ground(w, q, m, ground)


@njit
def _ground(v, w, q, m, straight, t_us):
    """Height of the ground; where its measurement fails FW_LND_ABORT aborts the landing."""
    if q.FW_LND_USETER == NO_TERRAIN:
        return v.target[2]
    if math.isfinite(m.terrain):
        w.terrain, w.terrain_t = m.terrain, t_us
    elif w.terrain_t == NEVER:
        if straight and t_us - w.landing_t > FIRST_US:
            _abort(v, w, q, ABORTED_WITHOUT_TERRAIN)
        return v.target[2]
    elif t_us - w.terrain_t > LOST_US:
        _abort(v, w, q, ABORTED_TERRAIN_LOST)
    return w.terrain


@njit
def _abort(v, w, q, why):
    """Aborts it, if FW_LND_ABORT has the bit of the reason and the flare has not begun."""
    wanted = q.FW_LND_ABORT & (1 << (why - ABORTED_WITHOUT_TERRAIN))
    if wanted and not w.flaring and not v.landing_abort:
        v.landing_abort = why
        v.events |= EVENT_LANDING_ABORTED


@njit
def _begin(v, w, q, m, t_us):
    """Where the approach enters; no steeper than FW_LND_ANG."""
    w.landing, w.flaring, w.touchdown_offset = True, False, 0.0
    w.landing_t, w.terrain_t, v.landing_abort = t_us, NEVER, 0
    if not math.isfinite(v.previous[0]):
        return
    w.entrance_height = max(v.previous[2] - v.target[2], 1e-6)
    north, east = v.previous[1] - v.target[1], v.previous[0] - v.target[0]
    out = npfg.unit((north, east))
    if out == (0.0, 0.0):
        out = -math.cos(m.heading), -math.sin(m.heading)
    distance = max(
        math.hypot(north, east), w.entrance_height / math.tan(math.radians(q.FW_LND_ANG))
    )
    w.entrance[0], w.entrance[1] = out[0] * distance, out[1] * distance


@njit
def _approach(v, w, q, m, ground, period, dt):
    """Guides along the approach; returns the height of the glide slope [m] and its slope."""
    along = npfg.unit((-w.entrance[0], -w.entrance[1]))
    yaw = v.stick_clockwise
    if q.FW_LND_NUDGE and abs(yaw) > NUDGE_DEADZONE and not w.flaring:
        off = (yaw - math.copysign(NUDGE_DEADZONE, yaw)) * NUDGE_RATE * dt
        w.touchdown_offset = clamp(w.touchdown_offset + off, -q.FW_LND_TD_OFF, q.FW_LND_TD_OFF)
    point = (
        v.target[1] - along[1] * w.touchdown_offset,
        v.target[0] + along[0] * w.touchdown_offset,
    )
    fly_line(w, q, m, point, along, period)
    slope = w.entrance_height / math.hypot(w.entrance[0], w.entrance[1])
    left = npfg.dot((point[0] - m.pos[0], point[1] - m.pos[1]), along)
    base = ground if q.FW_LND_USETER == FOLLOWED else v.target[2]
    return min(m.height, base + min(left * slope, w.entrance_height)), slope


@njit
def _flare(w, q, m, height, airspeed, least, share, t_us, dt):
    """A soft touch-down: the sink rate goes to FW_LND_FL_SINK, the throttle to idle."""
    root = math.sqrt(share)
    rate = root * -q.FW_LND_FL_SINK + (1.0 - root) * w.flare_rate
    low = math.radians(root * q.FW_LND_FL_PMIN + (1.0 - root) * q.FW_P_LIM_MIN)
    high = math.radians(root * q.FW_LND_FL_PMAX + (1.0 - root) * q.FW_P_LIM_MAX)
    if q.FW_LND_TD_TIME > 0.0:
        since = (t_us - w.flare_t) * 1e-6 - max(q.FW_LND_TD_TIME, q.FW_LND_FL_TIME)
        down = clamp(since / TOUCHDOWN_S, 0.0, 1.0)
        flat = math.radians(q.RWTO_PSP)
        low, high = down * flat + (1.0 - down) * low, down * flat + (1.0 - down) * high
    most = root * q.FW_THR_IDLE + (1.0 - root) * q.FW_THR_MAX
    d = demand(
        w,
        q,
        height,
        rate,
        airspeed,
        least,
        (low, high),
        (q.FW_THR_IDLE, most),
        (q.FW_T_CLMB_R_SP, q.FW_T_SINK_R_SP),
        q.FW_LND_THRTC_SC * q.FW_T_ALT_TC,
        False,
    )
    control_energy(w, q, m, d, t_us, dt)
    w.throttle = share * w.throttle + (1.0 - share) * w.flare_throttle
