"""Flies from waypoint to waypoint along straight lines in space, as PX4's FlightTaskAuto.

A leg is three points: where it comes from, where it goes, and what follows. The velocity points
to its end, with the horizontal and the vertical speed in proportion, so that both arrive
together; a corner is cut inside the acceptance radius, at the speed that MPC_XY_TRAJ_P allows.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp
from ..state.vehicle_status import TARGET_LAND, TARGET_LOITER, TARGET_TAKEOFF
from .trajectory import advance, speed_to_slow

SAME_PLACE = 1e-3  # a target moved by less is the same [m]
MIN_L1 = 5.0  # distance to the point on the line that a turn aims at, at least [m]
SLOW = 0.5  # below this speed the horizontal and vertical limits act on their own axes [m/s]
ON_LINE, TARGET_BEHIND, START_AHEAD, OFF_LINE = range(4)  # where the vehicle is on its leg


@njit
def _distance_xy(a: np.ndarray, b: np.ndarray) -> float:
    """Returns the horizontal distance of two points [m]."""
    return math.hypot(b[0] - a[0], b[1] - a[1])


@njit
def _update_leg(vehicle: Record, pos: np.ndarray) -> bool:
    """Copies target, previous and following into the leg; returns whether they are new."""
    start, end, after = vehicle.line[0], vehicle.line[1], vehicle.line[2]
    no_previous, no_following = math.isnan(vehicle.previous[0]), math.isnan(vehicle.following[0])
    same = no_previous == vehicle.no_previous and no_following == vehicle.no_following
    for k in range(3):
        same = (
            same and abs(end[k] - vehicle.target[k]) < SAME_PLACE
        )  # NaN at the entry: not the same
    if same:
        return False
    vehicle.no_previous, vehicle.no_following = no_previous, no_following
    vehicle.line_accept = vehicle.accept
    to_end = no_following or vehicle.target_type == TARGET_LOITER
    for k in range(3):
        end[k] = vehicle.target[k]
        start[k] = pos[k] if no_previous else vehicle.previous[k]
        after[k] = end[k] if to_end else vehicle.following[k]
    return True


@njit
def _place_on_line(vehicle: Record, pos: np.ndarray) -> tuple[int, float, float]:
    """Returns where the vehicle is on its leg, and the nearest point of the line (x, y) [m]."""
    start, end = vehicle.line[0], vehicle.line[1]
    length = _distance_xy(start, end)
    if length < 1e-6:
        return ON_LINE, end[0], end[1]
    ux, uy = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    along = (pos[0] - start[0]) * ux + (pos[1] - start[1]) * uy
    x, y = start[0] + along * ux, start[1] + along * uy
    if along > length:
        return TARGET_BEHIND, x, y
    if along < 0.0 and _distance_xy(start, pos) > vehicle.line_accept:
        return START_AHEAD, x, y
    if math.hypot(pos[0] - x, pos[1] - y) > vehicle.line_accept:
        return OFF_LINE, x, y
    return ON_LINE, x, y


@njit
def _update_path(vehicle: Record, pos: np.ndarray) -> None:
    """Writes `path`: the leg, or the path back to it where the vehicle has left it."""
    new = _update_leg(vehicle, pos)
    place, x, y = _place_on_line(vehicle, pos)
    if not (new or place != vehicle.place_on_line or place == OFF_LINE):
        return
    vehicle.place_on_line = place
    for k in range(3):
        start, end, after = vehicle.line[0, k], vehicle.line[1, k], vehicle.line[2, k]
        if place != ON_LINE:
            vehicle.path[0, k] = pos[k]
        else:
            vehicle.path[0, k] = start
        if place == START_AHEAD:
            vehicle.path[1, k], vehicle.path[2, k] = start, end
        elif place == OFF_LINE:
            vehicle.path[1, k] = x if k == 0 else (y if k == 1 else end)
            vehicle.path[2, k] = end
        else:
            vehicle.path[1, k], vehicle.path[2, k] = end, after


@njit
def _corner_speed(
    start: np.ndarray, corner: np.ndarray, after: np.ndarray, acc: float, radius: float
) -> float:
    """Speed on the circle that touches both legs at a distance from their corner [m/s]."""
    come, go = _distance_xy(start, corner), _distance_xy(corner, after)
    cosine = 0.0
    if come > 0.0 and go > 0.0:
        cosine = (
            (corner[0] - start[0]) * (corner[0] - after[0])
            + (corner[1] - start[1]) * (corner[1] - after[1])
        ) / (come * go)
    cosine = clamp(cosine, -1.0 + 1e-12, 1.0)  # -1 = straight on
    return math.sqrt(acc * radius * math.sqrt((1.0 - cosine) / (1.0 + cosine)))


@njit
def _start_speed(
    params: Record,
    start: np.ndarray,
    end: np.ndarray,
    after: np.ndarray,
    exit_speed: float,
    top: float,
    radius: float,
) -> float:
    """Horizontal speed at the start of a leg from which what follows can be flown [m/s]."""
    at_end = 0.0
    beyond = _distance_xy(end, after)
    if (
        beyond > SAME_PLACE
        and beyond >= radius
        and abs(end[2] - start[2]) < params.NAV_MC_ALT_RAD
        and abs(after[2] - end[2]) < params.NAV_MC_ALT_RAD
    ):
        corner = _corner_speed(start, end, after, params.MPC_XY_TRAJ_P * params.MPC_ACC_HOR, radius)
        at_end = min(corner, exit_speed, top)
    return min(
        top,
        speed_to_slow(_distance_xy(start, end), at_end, params.MPC_ACC_HOR, params.MPC_JERK_AUTO),
    )


@njit
def _turning(vehicle: Record) -> bool:
    """Returns whether the velocity of the trajectory does not point to the target yet."""
    speed = math.hypot(vehicle.smooth_vel[0], vehicle.smooth_vel[1])
    dx, dy = vehicle.path[1, 0] - vehicle.smooth_pos[0], vehicle.path[1, 1] - vehicle.smooth_pos[1]
    distance = math.hypot(dx, dy)
    if speed <= 0.2 or distance <= vehicle.line_accept:
        return False
    return vehicle.smooth_vel[0] * dx + vehicle.smooth_vel[1] * dy < 0.98 * speed * distance


@njit
def _aim(vehicle: Record, turning: bool, flat: bool) -> tuple[float, float, float]:
    """Returns the offset from the trajectory to where the velocity points [m].

    That is the target, or in a turn a point of the line at a fixed distance.
    """
    x, y, z = vehicle.smooth_pos[0], vehicle.smooth_pos[1], vehicle.smooth_pos[2]
    dx, dy, dz = vehicle.path[1, 0] - x, vehicle.path[1, 1] - y, vehicle.path[1, 2] - z
    if flat:
        dz = 0.0
    if not turning:
        return dx, dy, dz
    ux, uy, uz = (
        vehicle.path[1, 0] - vehicle.path[0, 0],
        vehicle.path[1, 1] - vehicle.path[0, 1],
        0.0 if flat else vehicle.path[1, 2] - vehicle.path[0, 2],
    )
    length = math.sqrt(ux * ux + uy * uy + uz * uz)
    if length > 0.0:
        ux, uy, uz = ux / length, uy / length, uz / length
    start_z = z if flat else vehicle.path[0, 2]
    along = (x - vehicle.path[0, 0]) * ux + (y - vehicle.path[0, 1]) * uy + (z - start_z) * uz
    cx = vehicle.path[0, 0] + along * ux - x
    cy = vehicle.path[0, 1] + along * uy - y
    cz = start_z + along * uz - z
    l1 = max(vehicle.line_accept, MIN_L1)
    ahead = math.sqrt(max(l1 * l1 - (cx * cx + cy * cy + cz * cz), 0.0))
    return cx + ahead * ux, cy + ahead * uy, cz + ahead * uz


@njit
def _limited(
    x: float, y: float, z: float, size: float, limit: float, axis_only: int
) -> tuple[float, float, float]:
    """A velocity shortened so that one part of it, `size`, is within its limit."""
    if size <= limit or size <= 0.0:
        return x, y, z
    fraction = limit / size
    if limit < SLOW and size < SLOW:
        if axis_only == 2:
            return x, y, z * fraction
        return x * fraction, y * fraction, z
    return x * fraction, y * fraction, z * fraction


@njit
def _velocity_to(
    vehicle: Record, params: Record, top_z: float, acc_z: float, flat: bool
) -> tuple[float, float, float]:
    """Returns the velocity to the end of the path [m/s]; flat leaves its vertical part open."""
    top = min(
        vehicle.target_speed if vehicle.target_speed > 0.0 else params.MPC_XY_CRUISE,
        params.MPC_XY_VEL_MAX,
    )
    radius = vehicle.line_accept
    after = _start_speed(
        params, vehicle.path[1], vehicle.path[2], vehicle.path[2], 0.0, top, radius
    )
    xy = _start_speed(
        params, vehicle.smooth_pos, vehicle.path[1], vehicle.path[2], after, top, radius
    )
    height = abs(vehicle.path[1, 2] - vehicle.smooth_pos[2])
    vz = 0.0 if flat else min(top_z, speed_to_slow(height, 0.0, acc_z, params.MPC_JERK_AUTO))
    turning = _turning(vehicle)
    if turning:
        xy = min(vehicle.turn_speed, xy)
    else:
        vehicle.turn_speed = xy
    dx, dy, dz = _aim(vehicle, turning, flat)
    distance = math.sqrt(dx * dx + dy * dy + dz * dz)
    if distance < 1e-9:
        return 0.0, 0.0, 0.0
    speed = math.sqrt(xy * xy + vz * vz) / distance
    x, y, z = dx * speed, dy * speed, dz * speed
    x, y, z = _limited(x, y, z, math.hypot(x, y), xy, 0)
    return _limited(x, y, z, abs(z), vz, 2)


@njit
def _time_scale(vehicle: Record, params: Record, pos: np.ndarray) -> float:
    """Returns the rate of the trajectory's time, 0..1: less where the vehicle lags behind it."""
    dx, dy = vehicle.smooth_pos[0] - pos[0], vehicle.smooth_pos[1] - pos[1]
    if (
        dx * vehicle.smooth_vel[0] + dy * vehicle.smooth_vel[1] < 0.0
        or params.MPC_XY_ERR_MAX <= 0.0
    ):
        return 1.0
    return 1.0 - clamp(math.hypot(dx, dy) / params.MPC_XY_ERR_MAX, 0.0, 1.0)


@njit
def land_speed(params: Record, height: float) -> float:
    """Descent rate of a landing at a height above the ground [m, m/s]."""
    low = params.MPC_LAND_ALT2
    high = max(params.MPC_LAND_ALT1, low)
    if height >= high:
        return params.MPC_Z_VEL_MAX_DN
    fraction = clamp((height - low) / max(high - low, 1e-3), 0.0, 1.0)
    return params.MPC_LAND_SPEED + fraction * (params.MPC_Z_VEL_MAX_DN - params.MPC_LAND_SPEED)


@njit
def fly_line(vehicle: Record, params: Record, pos: np.ndarray, dt: float) -> None:
    """One step along the leg of previous, target and following.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        params: Record of its parameters.
        pos: (3,) estimated position [m].
        dt: Length of the step [s].
    """
    _update_path(vehicle, pos)
    height = pos[2] - vehicle.home[2]
    top_z, acc_z = params.MPC_Z_V_AUTO_DN, params.MPC_ACC_DOWN_MAX
    if vehicle.climbs:
        top_z, acc_z = params.MPC_Z_V_AUTO_UP, params.MPC_ACC_UP_MAX
        if vehicle.target_type == TARGET_TAKEOFF and height < params.MPC_LAND_ALT1:
            top_z = params.MPC_TKO_SPEED
            acc_z = min(acc_z, params.MPC_TKO_SPEED / max(params.MPC_TKO_RAMP_T, 1e-3))
            vehicle.smooth_pos[2] = pos[2]
    landing = vehicle.target_type == TARGET_LAND
    wx, wy, wz = _velocity_to(vehicle, params, top_z, acc_z, landing)
    if landing:
        wz = -land_speed(params, height)
    wx, wy, wz = wx + vehicle.target_vel[0], wy + vehicle.target_vel[1], wz + vehicle.target_vel[2]
    follow_velocity(vehicle, params, pos, wx, wy, wz, top_z, acc_z, dt)
    if landing:
        vehicle.smooth_pos[2] = pos[2]


@njit
def follow_velocity(
    vehicle: Record,
    params: Record,
    pos: np.ndarray,
    wx: float,
    wy: float,
    wz: float,
    top_z: float,
    acc_z: float,
    dt: float,
) -> None:
    """One step of the trajectory to a velocity [m/s] under the limits of AUTO modes.

    Args:
        vehicle, params, pos, dt: Those of fly_line().
        wx, wy, wz: The velocity [m/s].
        top_z, acc_z: Largest vertical speed and acceleration [m/s, m/s^2].
    """
    vehicle.climbs = wz > 0.0
    vehicle.takeoff_requested = wz > 0.3
    top = params.MPC_XY_VEL_MAX
    vel_sp = (clamp(wx, -top, top), clamp(wy, -top, top), clamp(wz, -top_z, top_z))
    # As in PX4 the trajectory first goes on to the previous velocity set-point.
    last = (vehicle.smooth_vel_sp[0], vehicle.smooth_vel_sp[1], vehicle.smooth_vel_sp[2])
    advance(
        vehicle,
        0,
        3,
        last,
        params.MPC_ACC_HOR,
        acc_z,
        params.MPC_JERK_AUTO,
        dt * _time_scale(vehicle, params, pos),
    )
    for k in range(3):
        vehicle.smooth_vel_sp[k] = vel_sp[k]
