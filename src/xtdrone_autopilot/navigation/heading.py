"""Heading of AUTO modes: that of the item, of the region of interest, or along the way."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..control.vector import clamp, wrap_pi

FEED_FORWARD_S = 0.2  # time constant of the yaw rate that is fed forward [s]
HALF_TURN = math.pi - 1e-6  # from here on both ways round are equally long [rad]


@njit
def turn_to(v: np.void, q: np.void, yaw: float, dt: float) -> None:
    """Turns the yaw set-point at no more than MPC_YAWRAUTO_MAX, its rate fed forward.

    Half a turn goes counter-clockwise seen from above, as in PX4, whose angles lie in [-pi, pi) of
    north, east, down.

    Args:
        v: Record of VEHICLE_STATUS.
        q: Record of its parameters.
        yaw: Heading to turn to [rad].
        dt: Length of the step [s].
    """
    limit = math.radians(q.MPC_YAWRAUTO_MAX)
    gap = wrap_pi(yaw - v.sp_yaw)
    if abs(gap) > HALF_TURN:
        gap = math.pi
    turn = clamp(gap, -limit * dt, limit * dt)
    v.sp_yaw = wrap_pi(v.sp_yaw + turn)
    rate = v.sp_yaw_rate if math.isfinite(v.sp_yaw_rate) else 0.0
    if dt > 0.0:
        rate += dt / (FEED_FORWARD_S + dt) * (turn / dt - rate)
    v.sp_yaw_rate = clamp(rate, -limit, limit)


@njit
def face(v: np.void, q: np.void, pos: np.ndarray, dt: float) -> None:
    """Turns to v.target_yaw, or where that is open towards the end of the way.

    Within the acceptance radius of that end the heading stays as it is.

    Args:
        v, q, dt: As of turn_to().
        pos: (3,) estimated position [m].
    """
    wanted = v.target_yaw
    if not math.isfinite(wanted):
        wanted = v.sp_yaw
        dx, dy = v.way[1, 0] - pos[0], v.way[1, 1] - pos[1]
        if math.hypot(dx, dy) > v.line_accept:
            wanted = math.atan2(dy, dx)
    turn_to(v, q, wanted, dt)
