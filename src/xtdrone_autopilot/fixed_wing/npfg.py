"""NPFG: nonlinear path following guidance with excess wind handling, as PX4's src/lib/npfg.

T. Stastny, R. Siegwart: On flying backwards - preventing run-away of small, low-speed, fixed-wing
UAVs in strong winds (2019). Horizontal vectors are (north, east) [m] or [m/s].
"""

import math

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY

from ..control.vector import clamp

EPSILON = 1e-6
MIN_RADIUS = 0.5  # smallest radius of the path at the vehicle [m]
NTE_FRACTION = 0.5  # normalised track error from which track keeping raises the speed in full
AIRSPEED_BUFFER = 1.5  # airspeed range in which a bearing turns from feasible to infeasible [m/s]
MAX_SWITCH_DISTANCE = 500.0  # [m]

Pair = tuple[float, float]  # (north, east)


@njit
def dot(a: Pair, b: Pair) -> float:
    """Returns the scalar product."""
    return a[0] * b[0] + a[1] * b[1]


@njit
def cross(a: Pair, b: Pair) -> float:
    """Returns the down component of the vector product."""
    return a[0] * b[1] - a[1] * b[0]


@njit
def unit(a: Pair) -> Pair:
    """Returns the unit vector along a; (0, 0) for (0, 0)."""
    norm = math.hypot(a[0], a[1])
    return (a[0] / norm, a[1] / norm) if norm > 0.0 else (0.0, 0.0)


@njit
def switch_distance(wing: Record, params: Record) -> float:
    """Returns the distance from a waypoint at which the next leg begins [m]."""
    return min(MAX_SWITCH_DISTANCE, wing.track_error_bound * params.NPFG_SW_DST_MLT)


@njit
def bearing_feasibility(
    wind_cross: float, wind_dot: float, airspeed: float, wind_speed: float
) -> float:
    """Returns how feasible a bearing is in the wind: 0 = not at all, 1 = entirely.

    Args:
        wind_cross: Wind across the bearing [m/s].
        wind_dot: Wind along the bearing [m/s].
        airspeed: [m/s].
        wind_speed: [m/s].
    """
    against = wind_speed if wind_dot < 0.0 else abs(wind_cross)
    sine = math.sin(0.5 * math.pi * clamp((airspeed - against) / AIRSPEED_BUFFER, 0.0, 1.0))
    return sine * sine


@njit
def _is_feasible(wind_cross: float, wind_dot: float, airspeed: float, wind_speed: float) -> bool:
    """Returns whether a bearing can be flown at an airspeed [m/s] in the wind [m/s]."""
    return abs(wind_cross) < airspeed and (wind_dot > 0.0 or wind_speed < airspeed)


@njit
def track_error_bound(ground_speed: float, time_constant: float) -> float:
    """Returns the track error from which the vehicle flies straight to the path [m]."""
    if ground_speed > 1.0:
        return ground_speed * time_constant
    return 0.5 * time_constant * (ground_speed * ground_speed + 1.0)


@njit
def _look_ahead(track_error: float, bound: float) -> float:
    """Returns the angle between the bearing and the normal to the path [rad]."""
    offset = clamp(track_error / bound, 0.0, 1.0) - 1.0
    return 0.5 * math.pi * offset * offset


@njit
def adapted_period(
    params: Record,
    period: float,
    ground_speed: float,
    airspeed: float,
    wind_speed: float,
    track_error: float,
    curvature: float,
    feasibility: float,
) -> float:
    """Limits the period of the guidance to its stability bounds [s].

    Args:
        params: Record of the parameters.
        period: Nominal period [s].
        ground_speed, airspeed, wind_speed: [m/s].
        track_error: Distance from the path [m].
        curvature: Curvature of the path [1/m].
        feasibility: bearing_feasibility() on the path.
    """
    if not params.NPFG_LB_PERIOD or params.NPFG_ROLL_TC <= EPSILON:
        return period
    damping = params.NPFG_DAMPING
    turn_rate = abs(curvature * airspeed)
    wind_factor = 2.0
    if wind_speed <= airspeed and airspeed >= EPSILON:
        wind_factor = 2.0 * (1.0 - math.sqrt(1.0 - min(1.0, wind_speed / airspeed)))
    straight = math.pi * params.NPFG_ROLL_TC / damping
    curved = straight
    if turn_rate * wind_factor >= EPSILON and damping >= 0.5:
        curved = (
            4.0 * math.pi * params.NPFG_ROLL_TC * damping * feasibility
            + (1.0 - feasibility) * straight
        )
    straight *= params.NPFG_PERIOD_SF
    curved *= params.NPFG_PERIOD_SF
    bound = track_error_bound(ground_speed, straight * damping)
    near = math.sin(_look_ahead(track_error, bound)) ** 2
    min_period = curved * near + (1.0 - near) * straight
    period = max(min_period, period)
    if params.NPFG_UB_PERIOD and turn_rate * wind_factor > EPSILON and feasibility > 0.0:
        max_period = 4.0 * math.pi * damping / (turn_rate * wind_factor * feasibility)
        if period > max_period:
            period = max(min_period, max_period) * near + (1.0 - near) * period
    return period


@njit
def _along(airspeed: float, wind_cross: float) -> float:
    """Returns the airspeed component along a bearing, with the cross wind compensated [m/s]."""
    return math.sqrt(max(airspeed * airspeed - wind_cross * wind_cross, 0.0))


@njit
def _wind_triangle(wind_cross: float, along: float, bearing: Pair) -> Pair:
    """Returns the air velocity with components across and along a bearing (unit vector) [m/s]."""
    return (
        along * bearing[0] - wind_cross * bearing[1],
        wind_cross * bearing[0] + along * bearing[1],
    )


@njit
def _infeasible_air_velocity(wind: Pair, bearing: Pair, wind_speed: float, airspeed: float) -> Pair:
    """Returns the air velocity that minimises the drift along an infeasible bearing [m/s]."""
    residual = math.sqrt(max(wind_speed * wind_speed - airspeed * airspeed, 0.0))
    direction = unit((residual * bearing[0] - wind[0], residual * bearing[1] - wind[1]))
    return direction[0] * airspeed, direction[1] * airspeed


@njit
def reference_air_velocity(
    params: Record,
    wind: Pair,
    bearing: Pair,
    min_ground_speed: float,
    nominal_airspeed: float,
    max_airspeed: float,
) -> Pair:
    """Returns the air velocity that flies a bearing in the wind [m/s].

    Args:
        params: Record of the parameters.
        wind: Velocity of the air [m/s].
        bearing: Unit vector over the ground.
        min_ground_speed: Smallest ground speed along the bearing [m/s].
        nominal_airspeed, max_airspeed: True airspeeds [m/s].
    """
    wind_cross, wind_dot = cross(wind, bearing), dot(wind, bearing)
    wind_speed = math.hypot(wind[0], wind[1])
    keeps_speed = (params.NPFG_EN_MIN_GSP or params.NPFG_TRACK_KEEP) and params.NPFG_WIND_REG
    if min_ground_speed > wind_dot and keeps_speed:
        airspeed_needed = math.hypot(min_ground_speed - wind_dot, wind_cross)
        if airspeed_needed > max_airspeed and not _is_feasible(
            wind_cross, wind_dot, max_airspeed, wind_speed
        ):
            return _infeasible_air_velocity(wind, bearing, wind_speed, max_airspeed)
        airspeed = clamp(airspeed_needed, nominal_airspeed, max_airspeed)
        return _wind_triangle(wind_cross, _along(airspeed, wind_cross), bearing)
    if _is_feasible(wind_cross, wind_dot, nominal_airspeed, wind_speed):
        return _wind_triangle(wind_cross, _along(nominal_airspeed, wind_cross), bearing)
    if _is_feasible(wind_cross, wind_dot, max_airspeed, wind_speed) and params.NPFG_WIND_REG:
        if wind_dot <= 0.0:
            return wind
        return _wind_triangle(wind_cross, 0.0, bearing)
    return _infeasible_air_velocity(
        wind, bearing, wind_speed, max_airspeed if params.NPFG_WIND_REG else nominal_airspeed
    )


@njit
def _min_ground_speed(params: Record, normalised_error: float, feasibility: float) -> float:
    """Returns the smallest ground speed along the bearing, by track keeping and parameters [m/s].

    Args:
        params: Record of the parameters.
        normalised_error: Track error over its bound.
        feasibility: bearing_feasibility() of path and bearing.
    """
    speed = 0.0
    if params.NPFG_TRACK_KEEP and params.NPFG_WIND_REG:
        error = clamp(normalised_error, 0.0, 1.0)
        speed = (1.0 - feasibility) * params.NPFG_GSP_MAX_TK * clamp(error / NTE_FRACTION, 0.0, 1.0)
    if params.NPFG_EN_MIN_GSP and params.NPFG_WIND_REG:
        speed = max(speed, params.FW_GND_SPD_MIN)
    return speed


@njit
def _lateral_acceleration(
    air_vel: Pair, air_vel_ref: Pair, airspeed: float, airspeed_ref: float, gain: float
) -> float:
    """Returns the acceleration that turns the air velocity to its reference [m/s^2]."""
    turn = cross(air_vel, air_vel_ref)
    if dot(air_vel, air_vel_ref) < 0.0:
        return gain * (-airspeed if turn < 0.0 else airspeed)
    return gain * turn / airspeed_ref


@njit
def _curvature_at_vehicle(curvature: float, track_error: float) -> float:
    """Returns the curvature of the path's parallel through the vehicle [1/m]."""
    if curvature == 0.0:
        return 0.0
    return curvature / max(1.0 - curvature * track_error, abs(curvature) * MIN_RADIUS)


@njit
def guide(
    wing: Record,
    params: Record,
    pos: Pair,
    vel: Pair,
    wind: Pair,
    tangent: Pair,
    closest: Pair,
    curvature: float,
    period: float,
    nominal_airspeed: float,
    max_airspeed: float,
) -> None:
    """Writes the roll, airspeed and bearing that follow a path.

    Args:
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        pos, vel: Position and ground velocity of the vehicle [m], [m/s].
        wind: Velocity of the air; zeros if unknown [m/s].
        tangent: Unit vector along the path at its closest point.
        closest: Closest point of the path [m].
        curvature: Curvature of the path there, positive to the right [1/m].
        period: Period of the guidance [s].
        nominal_airspeed, max_airspeed: True airspeeds [m/s].
    """
    ground_speed = math.hypot(vel[0], vel[1])
    air = vel[0] - wind[0], vel[1] - wind[1]
    airspeed, wind_speed = math.hypot(air[0], air[1]), math.hypot(wind[0], wind[1])
    track_error = cross(tangent, (pos[0] - closest[0], pos[1] - closest[1]))
    wind_cross, wind_dot = cross(wind, tangent), dot(wind, tangent)
    on_track = bearing_feasibility(wind_cross, wind_dot, airspeed, wind_speed)
    period = adapted_period(
        params, period, ground_speed, airspeed, wind_speed, abs(track_error), curvature, on_track
    )
    gain = 4.0 * math.pi * params.NPFG_DAMPING / period
    bound = track_error_bound(ground_speed, period * params.NPFG_DAMPING)
    look_ahead = _look_ahead(abs(track_error), bound)
    track_proximity = math.sin(look_ahead) ** 2
    side = -1.0 if track_error >= 0.0 else 1.0
    bearing = (
        math.cos(look_ahead) * side * -tangent[1] + math.sin(look_ahead) * tangent[0],
        math.cos(look_ahead) * side * tangent[0] + math.sin(look_ahead) * tangent[1],
    )
    feasibility = on_track * bearing_feasibility(
        cross(wind, bearing), dot(wind, bearing), airspeed, wind_speed
    )
    min_ground_speed = _min_ground_speed(params, abs(track_error) / bound, feasibility)
    air_vel_ref = reference_air_velocity(
        params, wind, bearing, min_ground_speed, nominal_airspeed, max_airspeed
    )
    airspeed_ref = max(math.hypot(air_vel_ref[0], air_vel_ref[1]), EPSILON)
    lateral = _lateral_acceleration(air, air_vel_ref, airspeed, airspeed_ref, gain)
    ratio = 1.0 + wind_dot / max(_along(airspeed, wind_cross), EPSILON)
    path_rate = _curvature_at_vehicle(curvature, track_error)
    feed_forward = airspeed * ratio * path_rate * max(dot(vel, tangent), 0.0)
    lateral += feasibility * track_proximity * feed_forward
    limit = math.radians(params.FW_R_LIM)
    wing.guidance_roll = clamp(math.atan(lateral / GRAVITY), -limit, limit)
    wing.airspeed_ref = airspeed_ref
    wing.bearing = math.atan2(bearing[1], bearing[0])
    wing.track_error, wing.track_error_bound = track_error, bound


@njit
def certainty(vel: Pair, heading: float, std: float) -> float:
    """Returns how far the guidance can be trusted without a known wind, 0..1: PX4's canRun.

    Args:
        vel: Ground velocity [m/s].
        heading: Clockwise from north [rad].
        std: Standard deviation of the horizontal velocity [m/s].
    """
    speed = math.hypot(vel[0], vel[1])
    speed_factor = clamp((speed - 2.0 * std) / max(std, EPSILON), 0.0, 1.0)
    course = unit(vel)
    along_heading = math.cos(heading) * course[0] + math.sin(heading) * course[1]
    return speed_factor * clamp(along_heading / 0.09, 0.0, 1.0)
