"""Guidance that the fixed-wing modes share: motion, airspeed, height and path set-points.

As PX4's FixedwingPositionControl. Horizontal vectors are (north, east) [m] or [m/s]; roll is
positive to the right, pitch upwards, headings are clockwise from north [rad].
"""

import math
from typing import NamedTuple

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.earth import atmosphere
from xtdrone_dynamics.quaternion import rotate_inverse, to_euler

from ..control.vector import clamp
from ..state.estimator_flags import RANGE_USED
from ..state.ned import heading
from . import npfg, tecs
from .npfg import Pair

AIRSPEED_MAX_AGE_US = 1_000_000  # an older airspeed reading is not used [us]
AIRSPEED_SLEW_RATE = 1.0  # slew rate of the airspeed set-point [m/s^2]
CLEARANCE_ALTITUDE_BUFFER = 10.0  # height set-point above the take-off target, to pass it [m]


class Motion(NamedTuple):
    """Estimated motion of a vehicle, in the conventions of this module."""

    pos: Pair  # [m]
    height: float  # world z [m]
    vel: Pair  # ground velocity [m/s]
    climb: float  # climb rate [m/s]
    forward: float  # ground velocity along the body x axis [m/s]
    roll: float  # [rad]
    pitch: float  # [rad]
    heading: float  # [rad]
    yaw_rate: float  # body rate to the right [rad/s]
    wind: Pair  # velocity of the air; zeros if unknown [m/s]
    wind_known: bool
    certainty: float  # npfg.certainty() of the guidance, 0..1
    terrain: float  # height of the ground below, world z; NaN = no range finder measures it [m]


@njit
def motion_of(estimate: Record) -> Motion:
    """Returns the motion in a record of ESTIMATE."""
    quat, vel = estimate.quat, estimate.vel
    roll, pitch, yaw = to_euler(quat[0], quat[1], quat[2], quat[3])
    forward, _, _ = rotate_inverse(quat[0], quat[1], quat[2], quat[3], vel[0], vel[1], vel[2])
    wind_known = math.isfinite(estimate.wind[0])
    wind = (estimate.wind[1], estimate.wind[0]) if wind_known else (0.0, 0.0)
    ground_vel = vel[1], vel[0]
    heading_ned = heading(yaw)
    certainty = 1.0
    if not wind_known:
        certainty = npfg.certainty(
            ground_vel, heading_ned, math.hypot(estimate.vel_std[0], estimate.vel_std[1])
        )
    terrain = estimate.terrain if estimate.flags & RANGE_USED else math.nan
    return Motion(
        (estimate.pos[1], estimate.pos[0]),
        estimate.pos[2],
        ground_vel,
        vel[2],
        forward,
        roll,
        -pitch,
        heading_ned,
        -estimate.ang_vel[2],
        wind,
        wind_known,
        certainty,
        terrain,
    )


@njit
def with_wind(motion: Motion, wind: Pair) -> Motion:
    """Returns a motion in air of a known velocity [m/s]."""
    return Motion(
        motion.pos,
        motion.height,
        motion.vel,
        motion.climb,
        motion.forward,
        motion.roll,
        motion.pitch,
        motion.heading,
        motion.yaw_rate,
        wind,
        True,
        1.0,
        motion.terrain,
    )


@njit
def measure_airspeed(wing: Record, readings: Record, height: float, t_us: int) -> None:
    """Writes the calibrated airspeed of the pitot tube and the ratio EAS to TAS.

    Args:
        wing: Record of FIXED_WING_STATE.
        readings: Record of SENSORS.
        height: Height above the sea [m].
        t_us: Present time [us].
    """
    if readings.airspeed_new:
        wing.airspeed = math.sqrt(
            2.0 * max(readings.airspeed_pressure, 0.0) / atmosphere.density(0.0)
        )
        wing.airspeed_t = t_us
    elif t_us - wing.airspeed_t > AIRSPEED_MAX_AGE_US:
        wing.airspeed = math.nan
    wing.eas2tas = math.sqrt(atmosphere.density(0.0) / atmosphere.density(height))


@njit
def loiter_radius(vehicle: Record, params: Record) -> float:
    """Returns the radius of the loiter around the target; positive = clockwise [m]."""
    return vehicle.orbit_radius if vehicle.orbit_radius != 0.0 else params.NAV_LOITER_RAD


@njit
def load_factor(wing: Record) -> float:
    """Returns the load factor of a coordinated turn at the roll set-point."""
    return 1.0 / max(math.cos(wing.roll), 1e-6)


@njit
def turn_min_airspeed(wing: Record, params: Record) -> float:
    """Returns FW_AIRSPD_MIN for the load factor of the present turn, equivalent airspeed [m/s]."""
    return params.FW_AIRSPD_MIN * math.sqrt(load_factor(wing))


@njit
def set_airspeed(
    wing: Record,
    params: Record,
    motion: Motion,
    airspeed: float,
    min_airspeed: float,
    takes_off: bool,
    dt: float,
) -> None:
    """Slews the airspeed set-point towards an equivalent airspeed.

    Args:
        wing: Record of FIXED_WING_STATE; `airspeed_sp` is written.
        params: Record of the parameters.
        motion: Motion of the vehicle.
        airspeed: Airspeed [m/s]; 0, negative or NaN = FW_AIRSPD_TRIM.
        min_airspeed: Lower limit [m/s].
        takes_off: Whether the vehicle takes off, when wind does not change the limits.
        dt: Length of the step [s].
    """
    if not airspeed > 0.0:
        airspeed = params.FW_AIRSPD_TRIM
    if not takes_off and motion.wind_known and math.isfinite(wing.airspeed):
        min_airspeed = min(
            min_airspeed + params.FW_WIND_ARSP_SC * math.hypot(motion.wind[0], motion.wind[1]),
            params.FW_AIRSPD_MAX,
        )
    if not takes_off and not motion.wind_known:
        airspeed += max(params.FW_GND_SPD_MIN - motion.forward, 0.0)
    airspeed = min(max(airspeed, min_airspeed), params.FW_AIRSPD_MAX)
    if not math.isfinite(wing.airspeed_sp):
        wing.airspeed_sp = wing.airspeed if math.isfinite(wing.airspeed) else params.FW_AIRSPD_TRIM
    wing.airspeed_sp = max(wing.airspeed_sp, min_airspeed)
    step = AIRSPEED_SLEW_RATE * dt
    wing.airspeed_sp = min(
        wing.airspeed_sp + clamp(airspeed - wing.airspeed_sp, -step, step), params.FW_AIRSPD_MAX
    )


@njit
def follow(
    wing: Record,
    params: Record,
    motion: Motion,
    tangent: Pair,
    closest: Pair,
    curvature: float,
    period: float,
) -> None:
    """Writes roll and airspeed_ref that follow a path; see npfg.guide() for the arguments."""
    npfg.guide(
        wing,
        params,
        motion.pos,
        motion.vel,
        motion.wind,
        tangent,
        closest,
        curvature,
        period,
        max(wing.airspeed_sp * wing.eas2tas, 0.1),
        max(params.FW_AIRSPD_MAX * wing.eas2tas, 0.1),
    )
    wing.roll = motion.certainty * wing.guidance_roll


@njit
def fly_line(
    wing: Record, params: Record, motion: Motion, start: Pair, tangent: Pair, period: float
) -> None:
    """Follows the line through a point along a unit vector; period is npfg.guide()'s [s]."""
    along = npfg.dot((motion.pos[0] - start[0], motion.pos[1] - start[1]), tangent)
    follow(
        wing,
        params,
        motion,
        tangent,
        (start[0] + along * tangent[0], start[1] + along * tangent[1]),
        0.0,
        period,
    )


@njit
def fly_to(wing: Record, params: Record, motion: Motion, target: Pair) -> None:
    """Flies straight to a point."""
    ahead = target[0] - motion.pos[0], target[1] - motion.pos[1]
    if math.hypot(ahead[0], ahead[1]) > 1e-6:
        follow(wing, params, motion, npfg.unit(ahead), target, 0.0, params.NPFG_PERIOD)


@njit
def fly_leg(wing: Record, params: Record, motion: Motion, start: Pair, end: Pair) -> None:
    """Follows the segment between two points; from outside it flies to its start or end."""
    along = npfg.unit((end[0] - start[0], end[1] - start[1]))
    from_start = motion.pos[0] - start[0], motion.pos[1] - start[1]
    before = npfg.dot(along, from_start) < 0.0 and math.hypot(
        from_start[0], from_start[1]
    ) > npfg.switch_distance(wing, params)
    beyond = npfg.dot(along, (motion.pos[0] - end[0], motion.pos[1] - end[1])) > 0.0
    if along == (0.0, 0.0) or beyond:
        fly_to(wing, params, motion, end)
    elif before:
        fly_to(wing, params, motion, start)
    else:
        fly_line(wing, params, motion, start, along, params.NPFG_PERIOD)


@njit
def circle(
    wing: Record, params: Record, motion: Motion, centre: Pair, radius: float, period: float
) -> None:
    """Circles a point; a positive radius [m] is flown clockwise."""
    radial = motion.pos[0] - centre[0], motion.pos[1] - centre[1]
    if math.hypot(radial[0], radial[1]) < 0.1:
        radial = motion.vel if math.hypot(motion.vel[0], motion.vel[1]) >= 0.1 else (1.0, 0.0)
    radial = npfg.unit(radial)
    side = math.copysign(1.0, radius)
    abs_radius = abs(radius)
    follow(
        wing,
        params,
        motion,
        (-side * radial[1], side * radial[0]),
        (centre[0] + abs_radius * radial[0], centre[1] + abs_radius * radial[1]),
        1.0 / radius,
        period,
    )


@njit
def energy_demand(
    wing: Record,
    params: Record,
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
    """Returns the set-points and limits for total energy control.

    Args:
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        height: World z [m].
        height_rate: [m/s]; NaN = the height is controlled.
        airspeed, airspeed_min: Equivalent airspeed and its minimum [m/s].
        pitch: Lower and upper limit [rad].
        throttle: Lower and upper limit, 0..1.
        rates: Largest climb and sink rate of the height reference [m/s].
        height_tc: Time constant of the height [s].
        guards_underspeed: Whether a low airspeed takes priority over the height.
    """
    level = math.radians(params.FW_PSP_OFF)
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
        load_factor(wing),
    )


@njit
def cruise_demand(
    wing: Record, params: Record, height: float, height_rate: float, airspeed: float
) -> tecs.Demand:
    """Returns the demand of normal flight; see energy_demand() for the arguments."""
    return energy_demand(
        wing,
        params,
        height,
        height_rate,
        airspeed,
        params.FW_AIRSPD_MIN,
        (math.radians(params.FW_P_LIM_MIN), math.radians(params.FW_P_LIM_MAX)),
        (params.FW_THR_MIN, params.FW_THR_MAX),
        (params.FW_T_CLMB_R_SP, params.FW_T_SINK_R_SP),
        params.FW_T_ALT_TC,
        True,
    )


@njit
def control_energy(
    wing: Record, params: Record, motion: Motion, demand: tecs.Demand, t_us: int, dt: float
) -> None:
    """Writes pitch and throttle by total energy control."""
    tecs.control(wing, params, demand, t_us, motion.height, motion.climb, dt)
    wing.pitch = wing.tecs_pitch + math.radians(params.FW_PSP_OFF)
    wing.throttle = min(wing.tecs_throttle, 1.0)


@njit
def level_near_ground(wing: Record, params: Record, motion: Motion, ground: float) -> None:
    """Limits the roll set-point so that no wing tip touches the ground; ground is world z [m]."""
    clearance = max(motion.height - (ground + params.FW_WING_HEIGHT), 0.0)
    wing.roll = clamp(
        wing.roll, -2.0 * clearance / params.FW_WING_SPAN, 2.0 * clearance / params.FW_WING_SPAN
    )
