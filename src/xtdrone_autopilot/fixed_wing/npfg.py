"""NPFG: nonlinear path following guidance with excess wind handling, as in PX4's src/lib/npfg.

T. Stastny, R. Siegwart: On flying backwards - preventing run-away of small, low-speed, fixed-wing
UAVs in strong winds (2019). Horizontal vectors are (north, east) [m] or [m/s].
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY

from ..control.vector import clamp

EPSILON = 1e-6
MIN_RADIUS = 0.5  # of the path as seen from the vehicle [m]
TRACK_KEEPING_SHARE = 0.5  # of the track error bound, from which the speed is raised in full
AIRSPEED_BUFFER = 1.5  # over which a bearing turns from feasible to infeasible [m/s]
LARGEST_SWITCH_DISTANCE = 500.0  # [m]

Pair = tuple[float, float]


@njit
def dot(a: Pair, b: Pair) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1]


@njit
def cross(a: Pair, b: Pair) -> float:
    """Down component of the vector product."""
    return a[0] * b[1] - a[1] * b[0]


@njit
def unit(a: Pair) -> Pair:
    """A vector of length 1 in the same direction; (0, 0) stays."""
    norm = math.hypot(a[0], a[1])
    return (a[0] / norm, a[1] / norm) if norm > 0.0 else (0.0, 0.0)


@njit
def switch_distance(w: np.void, q: np.void) -> float:
    """Distance from a waypoint at which the next leg begins [m]."""
    return min(LARGEST_SWITCH_DISTANCE, w.track_error_bound * q.NPFG_SW_DST_MLT)


@njit
def bearing_feasibility(
    wind_cross: float, wind_dot: float, airspeed: float, wind_speed: float
) -> float:
    """How well a bearing can be flown in the wind: 0 not at all, 1 entirely.

    Args:
        wind_cross: Wind across the bearing [m/s].
        wind_dot: Wind along it [m/s].
        airspeed: [m/s].
        wind_speed: [m/s].
    """
    against = wind_speed if wind_dot < 0.0 else abs(wind_cross)
    sine = math.sin(0.5 * math.pi * clamp((airspeed - against) / AIRSPEED_BUFFER, 0.0, 1.0))
    return sine * sine


@njit
def _is_feasible(wind_cross, wind_dot, airspeed, wind_speed):
    return abs(wind_cross) < airspeed and (wind_dot > 0.0 or wind_speed < airspeed)


@njit
def track_error_bound(ground_speed: float, time_constant: float) -> float:
    """Distance from the path from which the vehicle flies straight to it [m]."""
    if ground_speed > 1.0:
        return ground_speed * time_constant
    return 0.5 * time_constant * (ground_speed * ground_speed + 1.0)


@njit
def _look_ahead(track_error, bound):
    """Angle between the bearing and the way straight to the path [rad]."""
    off = clamp(track_error / bound, 0.0, 1.0) - 1.0
    return 0.5 * math.pi * off * off


@njit
def adapted_period(
    q: np.void,
    period: float,
    ground_speed: float,
    airspeed: float,
    wind_speed: float,
    track_error: float,
    curvature: float,
    feasible: float,
) -> float:
    """The guidance's period within its bounds of stability [s].

    Args:
        q: Parameters.
        period: As wanted [s].
        ground_speed, airspeed, wind_speed: [m/s].
        track_error: Distance from the path [m].
        curvature: Of the path [1/m].
        feasible: Of bearing_feasibility on the path.
    """
    if not q.NPFG_LB_PERIOD or q.NPFG_ROLL_TC <= EPSILON:
        return period
    damping = q.NPFG_DAMPING
    turn_rate = abs(curvature * airspeed)
    wind_factor = 2.0
    if wind_speed <= airspeed and airspeed >= EPSILON:
        wind_factor = 2.0 * (1.0 - math.sqrt(1.0 - min(1.0, wind_speed / airspeed)))
    straight = math.pi * q.NPFG_ROLL_TC / damping
    curved = straight
    if turn_rate * wind_factor >= EPSILON and damping >= 0.5:
        curved = 4.0 * math.pi * q.NPFG_ROLL_TC * damping * feasible + (1.0 - feasible) * straight
    straight *= q.NPFG_PERIOD_SF
    curved *= q.NPFG_PERIOD_SF
    bound = track_error_bound(ground_speed, straight * damping)
    near = math.sin(_look_ahead(track_error, bound)) ** 2
    least = curved * near + (1.0 - near) * straight
    period = max(least, period)
    if q.NPFG_UB_PERIOD and turn_rate * wind_factor > EPSILON and feasible > 0.0:
        most = 4.0 * math.pi * damping / (turn_rate * wind_factor * feasible)
        if period > most:
            period = max(least, most) * near + (1.0 - near) * period
    return period


@njit
def _along(airspeed, wind_cross):
    """Airspeed along a bearing while the rest of it holds against the wind across [m/s]."""
    return math.sqrt(max(airspeed * airspeed - wind_cross * wind_cross, 0.0))


@njit
def _wind_triangle(wind_cross, along, bearing):
    return (
        along * bearing[0] - wind_cross * bearing[1],
        wind_cross * bearing[0] + along * bearing[1],
    )


@njit
def _infeasible(wind, bearing, wind_speed, airspeed):
    """Air velocity that drifts back as little as can be."""
    rest = math.sqrt(max(wind_speed * wind_speed - airspeed * airspeed, 0.0))
    direction = unit((rest * bearing[0] - wind[0], rest * bearing[1] - wind[1]))
    return direction[0] * airspeed, direction[1] * airspeed


@njit
def reference_air_velocity(
    q: np.void, wind: Pair, bearing: Pair, least_speed: float, nominal: float, largest: float
) -> Pair:
    """Velocity through the air that flies a bearing in the wind.

    Args:
        q: Parameters.
        wind: Velocity of the air.
        bearing: Unit vector over the ground.
        least_speed: Smallest speed along the bearing over the ground [m/s].
        nominal, largest: True airspeeds [m/s].
    """
    wind_cross, wind_dot = cross(wind, bearing), dot(wind, bearing)
    wind_speed = math.hypot(wind[0], wind[1])
    keeps_speed = (q.NPFG_EN_MIN_GSP or q.NPFG_TRACK_KEEP) and q.NPFG_WIND_REG
    if least_speed > wind_dot and keeps_speed:
        least = math.hypot(least_speed - wind_dot, wind_cross)
        if least > largest and not _is_feasible(wind_cross, wind_dot, largest, wind_speed):
            return _infeasible(wind, bearing, wind_speed, largest)
        airspeed = clamp(least, nominal, largest)
        return _wind_triangle(wind_cross, _along(airspeed, wind_cross), bearing)
    if _is_feasible(wind_cross, wind_dot, nominal, wind_speed):
        return _wind_triangle(wind_cross, _along(nominal, wind_cross), bearing)
    if _is_feasible(wind_cross, wind_dot, largest, wind_speed) and q.NPFG_WIND_REG:
        if wind_dot <= 0.0:
            return wind
        return _wind_triangle(wind_cross, 0.0, bearing)
    return _infeasible(wind, bearing, wind_speed, largest if q.NPFG_WIND_REG else nominal)


@njit
def guide(
    w: np.void,
    q: np.void,
    pos: Pair,
    vel: Pair,
    wind: Pair,
    tangent: Pair,
    closest: Pair,
    curvature: float,
    period: float,
    nominal: float,
    largest: float,
) -> None:
    """Writes roll, airspeed and bearing that follow a path.

    Args:
        w: Record of FIXED_WING_STATE.
        q: Parameters.
        pos, vel: Of the vehicle over the ground.
        wind: Velocity of the air; zeros where it is not known.
        tangent: Unit vector along the path at its closest point.
        closest: That point.
        curvature: Of the path there, positive to the right [1/m].
        period: Of the guidance [s].
        nominal, largest: True airspeeds [m/s].
    """
    ground_speed = math.hypot(vel[0], vel[1])
    air = vel[0] - wind[0], vel[1] - wind[1]
    airspeed, wind_speed = math.hypot(air[0], air[1]), math.hypot(wind[0], wind[1])
    error = cross(tangent, (pos[0] - closest[0], pos[1] - closest[1]))
    across, onwards = cross(wind, tangent), dot(wind, tangent)
    on_track = bearing_feasibility(across, onwards, airspeed, wind_speed)
    period = adapted_period(
        q, period, ground_speed, airspeed, wind_speed, abs(error), curvature, on_track
    )
    gain = 4.0 * math.pi * q.NPFG_DAMPING / period
    bound = track_error_bound(ground_speed, period * q.NPFG_DAMPING)
    ahead = _look_ahead(abs(error), bound)
    near = math.sin(ahead) ** 2
    side = -1.0 if error >= 0.0 else 1.0
    bearing = (
        math.cos(ahead) * side * -tangent[1] + math.sin(ahead) * tangent[0],
        math.cos(ahead) * side * tangent[0] + math.sin(ahead) * tangent[1],
    )
    feasible = on_track * bearing_feasibility(
        cross(wind, bearing), dot(wind, bearing), airspeed, wind_speed
    )
    least_speed = 0.0
    if q.NPFG_TRACK_KEEP and q.NPFG_WIND_REG:
        off = clamp(abs(error) / bound, 0.0, 1.0)
        least_speed = (
            (1.0 - feasible) * q.NPFG_GSP_MAX_TK * clamp(off / TRACK_KEEPING_SHARE, 0.0, 1.0)
        )
    if q.NPFG_EN_MIN_GSP and q.NPFG_WIND_REG:
        least_speed = max(least_speed, q.FW_GND_SPD_MIN)
    wanted = reference_air_velocity(q, wind, bearing, least_speed, nominal, largest)
    reference = max(math.hypot(wanted[0], wanted[1]), EPSILON)

    turn = cross(air, wanted)
    if dot(air, wanted) < 0.0:
        lateral = gain * (-airspeed if turn < 0.0 else airspeed)
    else:
        lateral = gain * turn / reference
    frame = (
        curvature / max(1.0 - curvature * error, abs(curvature) * MIN_RADIUS)
        if curvature != 0.0
        else 0.0
    )
    ratio = 1.0 + onwards / max(_along(airspeed, across), EPSILON)
    forward = airspeed * ratio * frame * max(dot(vel, tangent), 0.0)
    limit = math.radians(q.FW_R_LIM)
    w.guidance_roll = clamp(
        math.atan((lateral + feasible * near * forward) / GRAVITY), -limit, limit
    )
    w.airspeed_ref = reference
    w.bearing = math.atan2(bearing[1], bearing[0])
    w.track_error, w.track_error_bound = error, bound


@njit
def certainty(vel: Pair, heading: float, std: float) -> float:
    """How far the guidance can be trusted without a known wind, 0..1: PX4's canRun.

    Args:
        vel: Over the ground.
        heading: [rad].
        std: Standard deviation of the horizontal velocity [m/s].
    """
    speed = math.hypot(vel[0], vel[1])
    fast = clamp((speed - 2.0 * std) / max(std, EPSILON), 0.0, 1.0)
    course = unit(vel)
    ahead = math.cos(heading) * course[0] + math.sin(heading) * course[1]
    return fast * clamp(ahead / 0.09, 0.0, 1.0)
