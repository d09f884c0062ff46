"""Flies from waypoint to waypoint along straight lines in space, as PX4's FlightTaskAuto.

A leg is three points: where it comes from, where it goes, and what follows. The velocity points
to its end, with the horizontal and the vertical speed in proportion, so that both arrive
together; a corner is cut inside the acceptance radius, at the speed that MPC_XY_TRAJ_P allows.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..control.vector import clamp
from ..state.vehicle_status import TARGET_LAND, TARGET_LOITER, TARGET_TAKEOFF
from .trajectory import advance, speed_to_slow

SAME_PLACE = 1e-3  # a target moved by less is the same [m]
MIN_L1 = 5.0  # distance to the point on the line that a turn aims at, at least [m]
SLOW = 0.5  # below this speed the horizontal and vertical limits act on their own axes [m/s]
ON_LINE, TARGET_BEHIND, START_AHEAD, OFF_LINE = range(4)  # where the vehicle is on its leg


@njit
def _gap(a, b):
    """Horizontal distance of two points [m]."""
    return math.hypot(b[0] - a[0], b[1] - a[1])


@njit
def _taken(v, pos):
    """Takes target, previous and following into the leg where they are new; whether they are."""
    start, end, after = v.line[0], v.line[1], v.line[2]
    no_previous, no_following = math.isnan(v.previous[0]), math.isnan(v.following[0])
    same = no_previous == v.no_previous and no_following == v.no_following
    for k in range(3):
        same = same and abs(end[k] - v.target[k]) < SAME_PLACE  # NaN at the entry: not the same
    if same:
        return False
    v.no_previous, v.no_following = no_previous, no_following
    v.line_accept = v.accept
    to_end = no_following or v.target_type == TARGET_LOITER
    for k in range(3):
        end[k] = v.target[k]
        start[k] = pos[k] if no_previous else v.previous[k]
        after[k] = end[k] if to_end else v.following[k]
    return True


@njit
def _place_on_line(v, pos):
    """Where the vehicle is on its leg, and the nearest point of the line (x, y) [m]."""
    start, end = v.line[0], v.line[1]
    length = _gap(start, end)
    if length < 1e-6:
        return ON_LINE, end[0], end[1]
    ux, uy = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    along = (pos[0] - start[0]) * ux + (pos[1] - start[1]) * uy
    x, y = start[0] + along * ux, start[1] + along * uy
    if along > length:
        return TARGET_BEHIND, x, y
    if along < 0.0 and _gap(start, pos) > v.line_accept:
        return START_AHEAD, x, y
    if math.hypot(pos[0] - x, pos[1] - y) > v.line_accept:
        return OFF_LINE, x, y
    return ON_LINE, x, y


@njit
def _update_way(v, pos):
    """Writes v.way: the leg, or the way back to it where the vehicle has left it."""
    new = _taken(v, pos)
    place, x, y = _place_on_line(v, pos)
    if not (new or place != v.place_on_line or place == OFF_LINE):
        return
    v.place_on_line = place
    for k in range(3):
        start, end, after = v.line[0, k], v.line[1, k], v.line[2, k]
        if place != ON_LINE:
            v.way[0, k] = pos[k]
        else:
            v.way[0, k] = start
        if place == START_AHEAD:
            v.way[1, k], v.way[2, k] = start, end
        elif place == OFF_LINE:
            v.way[1, k] = x if k == 0 else (y if k == 1 else end)
            v.way[2, k] = end
        else:
            v.way[1, k], v.way[2, k] = end, after


@njit
def _corner_speed(start, corner, after, acc, radius):
    """Speed on the circle that touches both legs at a distance from their corner [m/s]."""
    come, go = _gap(start, corner), _gap(corner, after)
    cosine = 0.0
    if come > 0.0 and go > 0.0:
        cosine = (
            (corner[0] - start[0]) * (corner[0] - after[0])
            + (corner[1] - start[1]) * (corner[1] - after[1])
        ) / (come * go)
    cosine = clamp(cosine, -1.0 + 1e-12, 1.0)  # -1 = straight on
    return math.sqrt(acc * radius * math.sqrt((1.0 - cosine) / (1.0 + cosine)))


@njit
def _start_speed(q, start, end, after, exit_speed, top, radius):
    """Horizontal speed at the start of a leg from which what follows can be flown [m/s]."""
    at_end = 0.0
    beyond = _gap(end, after)
    if (
        beyond > SAME_PLACE
        and beyond >= radius
        and abs(end[2] - start[2]) < q.NAV_MC_ALT_RAD
        and abs(after[2] - end[2]) < q.NAV_MC_ALT_RAD
    ):
        corner = _corner_speed(start, end, after, q.MPC_XY_TRAJ_P * q.MPC_ACC_HOR, radius)
        at_end = min(corner, exit_speed, top)
    return min(top, speed_to_slow(_gap(start, end), at_end, q.MPC_ACC_HOR, q.MPC_JERK_AUTO))


@njit
def _turning(v):
    """Whether the velocity of the trajectory does not point to the target yet."""
    speed = math.hypot(v.smooth_vel[0], v.smooth_vel[1])
    dx, dy = v.way[1, 0] - v.smooth_pos[0], v.way[1, 1] - v.smooth_pos[1]
    distance = math.hypot(dx, dy)
    if speed <= 0.2 or distance <= v.line_accept:
        return False
    return v.smooth_vel[0] * dx + v.smooth_vel[1] * dy < 0.98 * speed * distance


@njit
def _aim(v, turning, flat):
    """Way from the trajectory to what the velocity points to [m]: the target, or in a turn a
    point of the line a fixed distance away.
    """
    x, y, z = v.smooth_pos[0], v.smooth_pos[1], v.smooth_pos[2]
    dx, dy, dz = v.way[1, 0] - x, v.way[1, 1] - y, v.way[1, 2] - z
    if flat:
        dz = 0.0
    if not turning:
        return dx, dy, dz
    ux, uy, uz = (
        v.way[1, 0] - v.way[0, 0],
        v.way[1, 1] - v.way[0, 1],
        0.0 if flat else v.way[1, 2] - v.way[0, 2],
    )
    length = math.sqrt(ux * ux + uy * uy + uz * uz)
    if length > 0.0:
        ux, uy, uz = ux / length, uy / length, uz / length
    start_z = z if flat else v.way[0, 2]
    along = (x - v.way[0, 0]) * ux + (y - v.way[0, 1]) * uy + (z - start_z) * uz
    cx = v.way[0, 0] + along * ux - x
    cy = v.way[0, 1] + along * uy - y
    cz = start_z + along * uz - z
    l1 = max(v.line_accept, MIN_L1)
    ahead = math.sqrt(max(l1 * l1 - (cx * cx + cy * cy + cz * cz), 0.0))
    return cx + ahead * ux, cy + ahead * uy, cz + ahead * uz


@njit
def _limited(x, y, z, size, limit, axis_only):
    """A velocity shortened so that one part of it, `size`, is within its limit."""
    if size <= limit or size <= 0.0:
        return x, y, z
    share = limit / size
    if limit < SLOW and size < SLOW:
        if axis_only == 2:
            return x, y, z * share
        return x * share, y * share, z
    return x * share, y * share, z * share


@njit
def _velocity_to(v, q, top_z, acc_z, flat):
    """Velocity to the target of the way [m/s]; flat = vertically another one is given."""
    top = min(v.target_speed if v.target_speed > 0.0 else q.MPC_XY_CRUISE, q.MPC_XY_VEL_MAX)
    radius = v.line_accept
    after = _start_speed(q, v.way[1], v.way[2], v.way[2], 0.0, top, radius)
    xy = _start_speed(q, v.smooth_pos, v.way[1], v.way[2], after, top, radius)
    height = abs(v.way[1, 2] - v.smooth_pos[2])
    vz = 0.0 if flat else min(top_z, speed_to_slow(height, 0.0, acc_z, q.MPC_JERK_AUTO))
    turning = _turning(v)
    if turning:
        xy = min(v.turn_speed, xy)
    else:
        v.turn_speed = xy
    dx, dy, dz = _aim(v, turning, flat)
    distance = math.sqrt(dx * dx + dy * dy + dz * dz)
    if distance < 1e-9:
        return 0.0, 0.0, 0.0
    speed = math.sqrt(xy * xy + vz * vz) / distance
    x, y, z = dx * speed, dy * speed, dz * speed
    x, y, z = _limited(x, y, z, math.hypot(x, y), xy, 0)
    return _limited(x, y, z, abs(z), vz, 2)


@njit
def _lag(v, q, pos):
    """Share of the time that passes on the trajectory, less where the vehicle is behind it."""
    dx, dy = v.smooth_pos[0] - pos[0], v.smooth_pos[1] - pos[1]
    if dx * v.smooth_vel[0] + dy * v.smooth_vel[1] < 0.0 or q.MPC_XY_ERR_MAX <= 0.0:
        return 1.0
    return 1.0 - clamp(math.hypot(dx, dy) / q.MPC_XY_ERR_MAX, 0.0, 1.0)


@njit
def land_speed(q: np.void, height: float) -> float:
    """Descent rate of a landing at a height above the ground [m, m/s]."""
    low = q.MPC_LAND_ALT2
    high = max(q.MPC_LAND_ALT1, low)
    if height >= high:
        return q.MPC_Z_VEL_MAX_DN
    share = clamp((height - low) / max(high - low, 1e-3), 0.0, 1.0)
    return q.MPC_LAND_SPEED + share * (q.MPC_Z_VEL_MAX_DN - q.MPC_LAND_SPEED)


@njit
def fly_line(v: np.void, q: np.void, pos: np.ndarray, dt: float) -> None:
    """One step along the leg of v.previous, v.target and v.following.

    Args:
        v: Record of VEHICLE_STATUS.
        q: Record of its parameters.
        pos: (3,) estimated position [m].
        dt: Length of the step [s].
    """
    _update_way(v, pos)
    height = pos[2] - v.home[2]
    top_z, acc_z = q.MPC_Z_V_AUTO_DN, q.MPC_ACC_DOWN_MAX
    if v.climbs:
        top_z, acc_z = q.MPC_Z_V_AUTO_UP, q.MPC_ACC_UP_MAX
        if v.target_type == TARGET_TAKEOFF and height < q.MPC_LAND_ALT1:
            top_z = q.MPC_TKO_SPEED
            acc_z = min(acc_z, q.MPC_TKO_SPEED / max(q.MPC_TKO_RAMP_T, 1e-3))
            v.smooth_pos[2] = pos[2]
    landing = v.target_type == TARGET_LAND
    wx, wy, wz = _velocity_to(v, q, top_z, acc_z, landing)
    if landing:
        wz = -land_speed(q, height)
    wx, wy, wz = wx + v.target_vel[0], wy + v.target_vel[1], wz + v.target_vel[2]
    follow_velocity(v, q, pos, wx, wy, wz, top_z, acc_z, dt)
    if landing:
        v.smooth_pos[2] = pos[2]


@njit
def follow_velocity(
    v: np.void,
    q: np.void,
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
        v, q, pos, dt: As of fly_line().
        wx, wy, wz: The velocity [m/s].
        top_z, acc_z: Largest vertical speed and acceleration [m/s, m/s^2].
    """
    v.climbs = wz > 0.0
    v.wants_up = wz > 0.3
    top = q.MPC_XY_VEL_MAX
    wanted = (clamp(wx, -top, top), clamp(wy, -top, top), clamp(wz, -top_z, top_z))
    # As in PX4 the trajectory first goes on to the velocity that was wanted the last time.
    last = (v.smooth_wanted[0], v.smooth_wanted[1], v.smooth_wanted[2])
    advance(v, 0, 3, last, q.MPC_ACC_HOR, acc_z, q.MPC_JERK_AUTO, dt * _lag(v, q, pos))
    for k in range(3):
        v.smooth_wanted[k] = wanted[k]
