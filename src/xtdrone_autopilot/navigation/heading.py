"""Heading of AUTO modes: that of the item, of the region of interest, or along the path."""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit

from ..control.vector import clamp, wrap_pi

FEED_FORWARD_S = 0.2  # time constant of the yaw rate that is fed forward [s]
HALF_TURN = math.pi - 1e-6  # from here on both ways round are equally long [rad]


@njit
def turn_to(vehicle: Record, params: Record, yaw: float, dt: float) -> None:
    """Turns the yaw set-point at no more than MPC_YAWRAUTO_MAX, its rate fed forward.

    Half a turn goes counter-clockwise seen from above, as in PX4, whose angles lie in [-pi, pi) of
    north, east, down.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        params: Record of its parameters.
        yaw: Heading to turn to [rad].
        dt: Length of the step [s].
    """
    limit = math.radians(params.MPC_YAWRAUTO_MAX)
    gap = wrap_pi(yaw - vehicle.sp_yaw)
    if abs(gap) > HALF_TURN:
        gap = math.pi
    turn = clamp(gap, -limit * dt, limit * dt)
    vehicle.sp_yaw = wrap_pi(vehicle.sp_yaw + turn)
    rate = vehicle.sp_yaw_rate if math.isfinite(vehicle.sp_yaw_rate) else 0.0
    if dt > 0.0:
        rate += dt / (FEED_FORWARD_S + dt) * (turn / dt - rate)
    vehicle.sp_yaw_rate = clamp(rate, -limit, limit)


@njit
def face(vehicle: Record, params: Record, pos: np.ndarray, dt: float) -> None:
    """Turns to target_yaw, or where that is NaN towards the end of the path.

    Within the acceptance radius of that end the heading stays as it is.

    Args:
        vehicle, params, dt: Those of turn_to().
        pos: (3,) estimated position [m].
    """
    yaw_sp = vehicle.target_yaw
    if not math.isfinite(yaw_sp):
        yaw_sp = vehicle.sp_yaw
        dx, dy = vehicle.path[1, 0] - pos[0], vehicle.path[1, 1] - pos[1]
        if math.hypot(dx, dy) > vehicle.line_accept:
            yaw_sp = math.atan2(dy, dx)
    turn_to(vehicle, params, yaw_sp, dt)
