"""AUTO modes of a fixed wing: legs, loiters, and when a target is reached.

As in PX4's FixedwingPositionControl and navigator.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..state.vehicle_status import (
    EVENT_TARGET_REACHED,
    NEVER,
    TARGET_LAND,
    TARGET_LOITER,
    TARGET_ORBIT,
    TARGET_TAKEOFF,
    WATCH_HEIGHT,
    WATCH_NOTHING,
    WATCH_STOP,
    WATCH_TIME,
)
from . import landing, npfg, takeoff
from .guidance import (
    Motion,
    circle,
    control_energy,
    cruise,
    fly_leg,
    fly_to,
    least_airspeed,
    loiter_radius,
    set_airspeed,
)
from .npfg import Pair

DESCENT = -0.5  # height rate without a position [m/s]


@njit
def fly_auto(
    v: np.void, w: np.void, q: np.void, m: Motion, t_us: int, accel: float, dt: float
) -> None:
    """Sets roll, pitch and throttle to fly to, round or down at v.target, by its type.

    Args:
        v: Record of VEHICLE_STATUS.
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        m: Motion.
        t_us: Now [us].
        accel: Specific force along the body's x [m/s^2].
        dt: [s].
    """
    if v.target_type == TARGET_TAKEOFF:
        takeoff.take_off(v, w, q, m, t_us, accel, dt)
        return
    if v.target_type == TARGET_LAND and not v.descend:
        landing.land(v, w, q, m, t_us, dt)
        return
    set_airspeed(w, q, m, v.target_speed, least_airspeed(w, q), False, dt)
    if v.descend:
        w.roll = math.radians(q.FW_GPSF_R)
        d = cruise(w, q, m.height, DESCENT, w.airspeed_sp)
    else:
        height = _follow_target(v, w, q, m)
        d = cruise(w, q, height, math.nan, w.airspeed_ref / w.eas2tas)
    control_energy(w, q, m, d, t_us, dt)
    if v.landed:
        w.throttle = q.FW_THR_IDLE


@njit
def _follow_target(v, w, q, m):
    """Guides along the leg or the circle; returns the height to fly at [m]."""
    target = v.target[1], v.target[0]
    off = math.hypot(target[0] - m.pos[0], target[1] - m.pos[1])
    if w.leg[0] != v.target[0] or w.leg[1] != v.target[1] or w.leg[2] != v.target[2]:
        w.leg[0], w.leg[1], w.leg[2] = v.target
        w.nearest, w.circles = math.inf, False
    w.nearest = min(w.nearest, off)
    if v.target_type == TARGET_ORBIT:
        circle(w, q, m, (v.centre[1], v.centre[0]), v.orbit_radius, q.NPFG_PERIOD)
        return v.target[2]
    if v.target_type == TARGET_LOITER:
        circle(w, q, m, target, loiter_radius(v, q), q.NPFG_PERIOD)
        return v.target[2]
    # Laterally there but not at its height, it loiters until it is.
    w.circles = (
        v.watch != WATCH_STOP
        and abs(v.target[2] - m.height) > _height_radius(v, q)
        and (w.circles or off < npfg.switch_distance(w, q))
    )
    if w.circles:
        circle(w, q, m, target, q.NAV_LOITER_RAD, q.NPFG_PERIOD)
        return v.target[2]
    if math.isfinite(v.previous[0]):
        fly_leg(w, q, m, (v.previous[1], v.previous[0]), target)
    else:
        fly_to(w, q, m, target)
    return _height_on_leg(v, w, q)


@njit
def _height_radius(v, q):
    """Error in height at which the target counts as reached [m]."""
    return q.NAV_FW_ALTL_RAD if v.lands_next else q.NAV_FW_ALT_RAD


@njit
def _height_on_leg(v, w, q):
    """The height that changes along the leg, from its start to where the target is accepted."""
    if not math.isfinite(v.previous[0]):
        return v.target[2]
    length = math.hypot(v.target[0] - v.previous[0], v.target[1] - v.previous[1])
    accept = npfg.switch_distance(w, q)
    nearest = min(w.nearest, length)
    if nearest <= accept:
        return v.target[2]
    share = (nearest - accept) / (length - accept)
    return v.target[2] + share * (v.previous[2] - v.target[2])


@njit
def watch(v: np.void, w: np.void, q: np.void, m: Motion, t_us: int, turned: float) -> None:
    """Raises EVENT_TARGET_REACHED where the target is reached and held for as long as wanted.

    Args:
        v: Record of VEHICLE_STATUS.
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        m: Motion.
        t_us: Now [us].
        turned: Angle flown round v.centre since the last call, along the orbit [rad].
    """
    if v.watch == WATCH_NOTHING:
        return
    if v.target_type == TARGET_ORBIT:
        v.orbit_left -= turned
        reached = v.orbit_left <= 0.0
    else:
        if v.watch == WATCH_TIME or (
            not v.landed and v.reached_t == NEVER and _at_target(v, w, q, m)
        ):
            v.reached_t = min(v.reached_t, t_us)
        reached = v.reached_t != NEVER and t_us - v.reached_t >= v.hold_s * 1e6
    if reached:
        v.watch = WATCH_NOTHING
        v.events |= EVENT_TARGET_REACHED


@njit
def acceptance_radius(w: np.void, q: np.void) -> float:
    """Horizontal distance at which a waypoint counts as reached [m]."""
    return max(npfg.switch_distance(w, q), q.NAV_ACC_RAD)


@njit
def _at_target(v, w, q, m):
    if v.watch == WATCH_HEIGHT:
        return m.height > v.target[2]
    east, north = v.target[0] - m.pos[1], v.target[1] - m.pos[0]
    if v.watch == WATCH_STOP:
        speed = math.hypot(m.vel[0], m.vel[1])
        return math.hypot(north, east) <= speed * speed / (2.0 * q.VT_B_DEC_MSS) or _has_passed(
            v, (north, east)
        )
    radius = acceptance_radius(w, q)
    if v.target_type == TARGET_LOITER:
        radius += abs(loiter_radius(v, q))
    inside = math.hypot(north, east) <= radius or _has_passed(v, (north, east))
    return inside and abs(v.target[2] - m.height) <= _height_radius(v, q)


@njit
def _has_passed(v: np.void, left: Pair) -> bool:
    """Whether the vehicle is beyond the end of its leg; left: from it to the target."""
    if v.target_type == TARGET_LOITER or not math.isfinite(v.previous[0]):
        return False
    along = v.target[1] - v.previous[1], v.target[0] - v.previous[0]
    return npfg.dot(along, left) < 0.0
