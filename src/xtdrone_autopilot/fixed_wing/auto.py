"""AUTO modes of a fixed wing: legs, loiters and detection of a reached target.

As PX4's FixedwingPositionControl and navigator.
"""

import math

from xtdrone_dynamics.compiled import Record, njit

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
    cruise_demand,
    fly_leg,
    fly_to,
    loiter_radius,
    set_airspeed,
    turn_min_airspeed,
)
from .npfg import Pair

DESCENT = -0.5  # height rate of a descent without a position [m/s]


@njit
def fly_auto(
    vehicle: Record,
    wing: Record,
    params: Record,
    motion: Motion,
    t_us: int,
    accel: float,
    dt: float,
) -> None:
    """Writes roll, pitch and throttle that fly to, around or down at vehicle.target, by its type.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        motion: Motion of the vehicle.
        t_us: Present time [us].
        accel: Specific force along the body x axis [m/s^2].
        dt: Length of the step [s].
    """
    if vehicle.target_type == TARGET_TAKEOFF:
        takeoff.take_off(vehicle, wing, params, motion, t_us, accel, dt)
        return
    if vehicle.target_type == TARGET_LAND and not vehicle.descend:
        landing.land(vehicle, wing, params, motion, t_us, dt)
        return
    set_airspeed(
        wing, params, motion, vehicle.target_speed, turn_min_airspeed(wing, params), False, dt
    )
    if vehicle.descend:
        wing.roll = math.radians(params.FW_GPSF_R)
        demand = cruise_demand(wing, params, motion.height, DESCENT, wing.airspeed_sp)
    else:
        height = follow_target(vehicle, wing, params, motion)
        demand = cruise_demand(wing, params, height, math.nan, wing.airspeed_ref / wing.eas2tas)
    control_energy(wing, params, motion, demand, t_us, dt)
    if vehicle.landed:
        wing.throttle = params.FW_THR_IDLE


@njit
def follow_target(vehicle: Record, wing: Record, params: Record, motion: Motion) -> float:
    """Follows the leg or the circle; returns the height set-point, world z [m]."""
    target = vehicle.target[1], vehicle.target[0]
    distance = math.hypot(target[0] - motion.pos[0], target[1] - motion.pos[1])
    if (
        wing.leg[0] != vehicle.target[0]
        or wing.leg[1] != vehicle.target[1]
        or wing.leg[2] != vehicle.target[2]
    ):
        wing.leg[0], wing.leg[1], wing.leg[2] = vehicle.target
        wing.min_distance, wing.loiters = math.inf, False
    wing.min_distance = min(wing.min_distance, distance)
    if vehicle.target_type == TARGET_ORBIT:
        circle(
            wing,
            params,
            motion,
            (vehicle.centre[1], vehicle.centre[0]),
            vehicle.orbit_radius,
            params.NPFG_PERIOD,
        )
        return vehicle.target[2]
    if vehicle.target_type == TARGET_LOITER:
        circle(wing, params, motion, target, loiter_radius(vehicle, params), params.NPFG_PERIOD)
        return vehicle.target[2]
    # Above or below the target, loiter until its height is reached.
    wing.loiters = (
        vehicle.watch != WATCH_STOP
        and abs(vehicle.target[2] - motion.height) > _height_radius(vehicle, params)
        and (wing.loiters or distance < npfg.switch_distance(wing, params))
    )
    if wing.loiters:
        circle(wing, params, motion, target, params.NAV_LOITER_RAD, params.NPFG_PERIOD)
        return vehicle.target[2]
    if math.isfinite(vehicle.previous[0]):
        fly_leg(wing, params, motion, (vehicle.previous[1], vehicle.previous[0]), target)
    else:
        fly_to(wing, params, motion, target)
    return _height_on_leg(vehicle, wing, params)


@njit
def _height_radius(vehicle: Record, params: Record) -> float:
    """Returns the acceptance radius in height of the target [m]."""
    return params.NAV_FW_ALTL_RAD if vehicle.lands_next else params.NAV_FW_ALT_RAD


@njit
def _height_on_leg(vehicle: Record, wing: Record, params: Record) -> float:
    """Returns the height on the leg, which ends where the target is accepted, world z [m]."""
    if not math.isfinite(vehicle.previous[0]):
        return vehicle.target[2]
    length = math.hypot(
        vehicle.target[0] - vehicle.previous[0], vehicle.target[1] - vehicle.previous[1]
    )
    accept = npfg.switch_distance(wing, params)
    nearest = min(wing.min_distance, length)
    if nearest <= accept:
        return vehicle.target[2]
    fraction = (nearest - accept) / (length - accept)
    return vehicle.target[2] + fraction * (vehicle.previous[2] - vehicle.target[2])


@njit
def watch_target(
    vehicle: Record, wing: Record, params: Record, motion: Motion, t_us: int, angle_flown: float
) -> None:
    """Raises EVENT_TARGET_REACHED once the target is reached and its hold time is over.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        wing: Record of FIXED_WING_STATE.
        params: Record of the parameters.
        motion: Motion of the vehicle.
        t_us: Present time [us].
        angle_flown: Angle flown around vehicle.centre since the last call, along the orbit [rad].
    """
    if vehicle.watch == WATCH_NOTHING:
        return
    if vehicle.target_type == TARGET_ORBIT:
        vehicle.orbit_left -= angle_flown
        reached = vehicle.orbit_left <= 0.0
    else:
        if vehicle.watch == WATCH_TIME or (
            not vehicle.landed
            and vehicle.reached_t == NEVER
            and _at_target(vehicle, wing, params, motion)
        ):
            vehicle.reached_t = min(vehicle.reached_t, t_us)
        reached = vehicle.reached_t != NEVER and t_us - vehicle.reached_t >= vehicle.hold_s * 1e6
    if reached:
        vehicle.watch = WATCH_NOTHING
        vehicle.events |= EVENT_TARGET_REACHED


@njit
def acceptance_radius(wing: Record, params: Record) -> float:
    """Returns the horizontal distance at which a waypoint counts as reached [m]."""
    return max(npfg.switch_distance(wing, params), params.NAV_ACC_RAD)


@njit
def _at_target(vehicle: Record, wing: Record, params: Record, motion: Motion) -> bool:
    """Returns whether the vehicle is at its target, by the criterion vehicle.watch."""
    if vehicle.watch == WATCH_HEIGHT:
        return motion.height > vehicle.target[2]
    east, north = vehicle.target[0] - motion.pos[1], vehicle.target[1] - motion.pos[0]
    if vehicle.watch == WATCH_STOP:
        speed = math.hypot(motion.vel[0], motion.vel[1])
        return math.hypot(north, east) <= speed * speed / (
            2.0 * params.VT_B_DEC_MSS
        ) or _has_passed(vehicle, (north, east))
    radius = acceptance_radius(wing, params)
    if vehicle.target_type == TARGET_LOITER:
        radius += abs(loiter_radius(vehicle, params))
    inside = math.hypot(north, east) <= radius or _has_passed(vehicle, (north, east))
    return inside and abs(vehicle.target[2] - motion.height) <= _height_radius(vehicle, params)


@njit
def _has_passed(vehicle: Record, to_target: Pair) -> bool:
    """Returns whether the vehicle is beyond the end of its leg; to_target is (north, east) [m]."""
    if vehicle.target_type == TARGET_LOITER or not math.isfinite(vehicle.previous[0]):
        return False
    along = vehicle.target[1] - vehicle.previous[1], vehicle.target[0] - vehicle.previous[0]
    return npfg.dot(along, to_target) < 0.0
