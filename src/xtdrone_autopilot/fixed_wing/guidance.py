"""What the fixed-wing modes share: motion, set-points of airspeed, height and path.

As in PX4's FixedwingPositionControl. Horizontal vectors are (north, east) [m] or [m/s], angles as
in FIXED_WING_STATE.
"""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.earth import atmosphere
from xtdrone_dynamics.quaternion import rotate_inverse, to_euler

from ..control.vector import clamp
from ..state.estimator_flags import RANGE_USED
from ..state.ned import heading
from . import npfg, tecs
from .npfg import Pair

AIRSPEED_MAX_AGE_US = 1_000_000  # after which an airspeed is not used any more [us]
AIRSPEED_SLEW = 1.0  # of the set-point [m/s^2]
CLEARANCE = 10.0  # above the height of a take-off, which it thus passes [m]


class Motion(NamedTuple):
    """How a vehicle moves, from its estimate."""

    pos: Pair
    height: float  # world z [m]
    vel: Pair
    climb: float  # [m/s]
    forward: float  # velocity over the ground along the body's x [m/s]
    roll: float  # [rad]
    pitch: float
    heading: float
    yaw_rate: float  # of the body, to the right [rad/s]
    wind: Pair  # zeros where it is not known
    wind_known: bool
    certainty: float  # of the guidance, 0..1
    terrain: float  # height of the ground below, world z [m]; NaN = not measured now


@njit
def motion(e: np.void) -> Motion:
    """Of a record of ESTIMATE."""
    quat, vel = e.quat, e.vel
    roll, pitch, yaw = to_euler(quat[0], quat[1], quat[2], quat[3])
    forward, _, _ = rotate_inverse(quat[0], quat[1], quat[2], quat[3], vel[0], vel[1], vel[2])
    known = math.isfinite(e.wind[0])
    wind = (e.wind[1], e.wind[0]) if known else (0.0, 0.0)
    over = vel[1], vel[0]
    north = heading(yaw)
    sure = 1.0
    if not known:
        sure = npfg.certainty(over, north, math.hypot(e.vel_std[0], e.vel_std[1]))
    terrain = e.terrain if e.flags & RANGE_USED else math.nan
    return Motion(
        (e.pos[1], e.pos[0]),
        e.pos[2],
        over,
        vel[2],
        forward,
        roll,
        -pitch,
        north,
        -e.ang_vel[2],
        wind,
        known,
        sure,
        terrain,
    )


@njit
def measure_airspeed(w: np.void, s: np.void, height: float, t_us: int) -> None:
    """Calibrated airspeed of the pitot tube, and the ratio of true to equivalent airspeed.

    Args:
        w: Record of FIXED_WING_STATE.
        s: Record of the readings.
        height: Above the sea [m].
        t_us: Now [us].
    """
    if s.airspeed_new:
        w.airspeed = math.sqrt(2.0 * max(s.airspeed_pressure, 0.0) / atmosphere.density(0.0))
        w.airspeed_t = t_us
    elif t_us - w.airspeed_t > AIRSPEED_MAX_AGE_US:
        w.airspeed = math.nan
    w.eas2tas = math.sqrt(atmosphere.density(0.0) / atmosphere.density(height))


@njit
def loiter_radius(v: np.void, q: np.void) -> float:
    """Radius of the circle round the target, positive = clockwise [m]."""
    return v.orbit_radius if v.orbit_radius != 0.0 else q.NAV_LOITER_RAD


@njit
def load_factor(w: np.void) -> float:
    """That of a coordinated turn at the roll set-point."""
    return 1.0 / max(math.cos(w.roll), 1e-6)


@njit
def least_airspeed(w: np.void, q: np.void) -> float:
    """FW_AIRSPD_MIN in the present turn, equivalent [m/s]."""
    return q.FW_AIRSPD_MIN * math.sqrt(load_factor(w))


@njit
def set_airspeed(
    w: np.void, q: np.void, m: Motion, wanted: float, least: float, takes_off: bool, dt: float
) -> None:
    """Moves the airspeed set-point towards the wanted one; not above 0 = the trim airspeed."""
    if not wanted > 0.0:
        wanted = q.FW_AIRSPD_TRIM
    if not takes_off and m.wind_known and math.isfinite(w.airspeed):
        least = min(least + q.FW_WIND_ARSP_SC * math.hypot(m.wind[0], m.wind[1]), q.FW_AIRSPD_MAX)
    if not takes_off and not m.wind_known:
        wanted += max(q.FW_GND_SPD_MIN - m.forward, 0.0)
    wanted = min(max(wanted, least), q.FW_AIRSPD_MAX)
    if not math.isfinite(w.airspeed_sp):
        w.airspeed_sp = w.airspeed if math.isfinite(w.airspeed) else q.FW_AIRSPD_TRIM
    w.airspeed_sp = max(w.airspeed_sp, least)
    step = AIRSPEED_SLEW * dt
    w.airspeed_sp = min(w.airspeed_sp + clamp(wanted - w.airspeed_sp, -step, step), q.FW_AIRSPD_MAX)


@njit
def follow(
    w: np.void, q: np.void, m: Motion, tangent: Pair, closest: Pair, curvature: float, period: float
) -> None:
    """Sets roll and airspeed_ref to follow a path; arguments as of npfg.guide."""
    npfg.guide(
        w,
        q,
        m.pos,
        m.vel,
        m.wind,
        tangent,
        closest,
        curvature,
        period,
        max(w.airspeed_sp * w.eas2tas, 0.1),
        max(q.FW_AIRSPD_MAX * w.eas2tas, 0.1),
    )
    w.roll = m.certainty * w.guidance_roll


@njit
def fly_line(w: np.void, q: np.void, m: Motion, start: Pair, tangent: Pair, period: float) -> None:
    """Follows the line through a point along a unit vector."""
    along = npfg.dot((m.pos[0] - start[0], m.pos[1] - start[1]), tangent)
    follow(
        w,
        q,
        m,
        tangent,
        (start[0] + along * tangent[0], start[1] + along * tangent[1]),
        0.0,
        period,
    )


@njit
def fly_to(w: np.void, q: np.void, m: Motion, target: Pair) -> None:
    """Flies straight to a point."""
    ahead = target[0] - m.pos[0], target[1] - m.pos[1]
    if math.hypot(ahead[0], ahead[1]) > 1e-6:
        follow(w, q, m, npfg.unit(ahead), target, 0.0, q.NPFG_PERIOD)


@njit
def fly_leg(w: np.void, q: np.void, m: Motion, start: Pair, end: Pair) -> None:
    """Follows the segment between two points, and flies to its start or end from beyond them."""
    along = npfg.unit((end[0] - start[0], end[1] - start[1]))
    since = m.pos[0] - start[0], m.pos[1] - start[1]
    before = npfg.dot(along, since) < 0.0 and math.hypot(since[0], since[1]) > npfg.switch_distance(
        w, q
    )
    beyond = npfg.dot(along, (m.pos[0] - end[0], m.pos[1] - end[1])) > 0.0
    if along == (0.0, 0.0) or beyond:
        fly_to(w, q, m, end)
    elif before:
        fly_to(w, q, m, start)
    else:
        fly_line(w, q, m, start, along, q.NPFG_PERIOD)


@njit
def circle(w: np.void, q: np.void, m: Motion, centre: Pair, radius: float, period: float) -> None:
    """Loiters round a point; a positive radius [m] is flown clockwise."""
    out = m.pos[0] - centre[0], m.pos[1] - centre[1]
    if math.hypot(out[0], out[1]) < 0.1:
        out = m.vel if math.hypot(m.vel[0], m.vel[1]) >= 0.1 else (1.0, 0.0)
    out = npfg.unit(out)
    side = math.copysign(1.0, radius)
    size = abs(radius)
    follow(
        w,
        q,
        m,
        (-side * out[1], side * out[0]),
        (centre[0] + size * out[0], centre[1] + size * out[1]),
        1.0 / radius,
        period,
    )


@njit
def demand(
    w: np.void,
    q: np.void,
    height: float,
    height_rate: float,
    airspeed: float,
    airspeed_min: float,
    pitch: Pair,
    throttle: Pair,
    rates: Pair,
    height_tc: float,
    guards_underspeed: bool,
) -> tecs.Demand:
    """A demand on total energy control.

    Args:
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        height: World z [m].
        height_rate: [m/s]; NaN = the height is controlled.
        airspeed, airspeed_min: Equivalent [m/s].
        pitch, throttle: Lower and upper limit [rad], 0..1.
        rates: Largest climb and sink rate of the height's reference [m/s].
        height_tc: Time constant of the height [s].
        guards_underspeed: Whether a low airspeed goes before all.
    """
    level = math.radians(q.FW_PSP_OFF)
    return tecs.Demand(
        height,
        height_rate,
        airspeed,
        airspeed_min,
        pitch[0] - level,
        pitch[1] - level,
        throttle[0],
        throttle[1],
        rates[0],
        rates[1],
        height_tc,
        guards_underspeed,
        load_factor(w),
    )


@njit
def cruise(
    w: np.void, q: np.void, height: float, height_rate: float, airspeed: float
) -> tecs.Demand:
    """The demand of normal flight."""
    return demand(
        w,
        q,
        height,
        height_rate,
        airspeed,
        q.FW_AIRSPD_MIN,
        (math.radians(q.FW_P_LIM_MIN), math.radians(q.FW_P_LIM_MAX)),
        (q.FW_THR_MIN, q.FW_THR_MAX),
        (q.FW_T_CLMB_R_SP, q.FW_T_SINK_R_SP),
        q.FW_T_ALT_TC,
        True,
    )


@njit
def control_energy(w: np.void, q: np.void, m: Motion, d: tecs.Demand, t_us: int, dt: float) -> None:
    """Sets pitch and throttle by total energy control."""
    tecs.control(w, q, d, t_us, m.height, m.climb, dt)
    w.pitch = w.tecs_pitch + math.radians(q.FW_PSP_OFF)
    w.throttle = min(w.tecs_throttle, 1.0)


@njit
def level_near_ground(w: np.void, q: np.void, m: Motion, ground: float) -> None:
    """Limits the roll set-point so that no wing tip strikes the ground, world z [m]."""
    above = max(m.height - (ground + q.FW_WING_HEIGHT), 0.0)
    w.roll = clamp(w.roll, -2.0 * above / q.FW_WING_SPAN, 2.0 * above / q.FW_WING_SPAN)
