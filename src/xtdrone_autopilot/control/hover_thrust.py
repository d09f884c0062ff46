"""Estimates the thrust in hover from thrust and vertical acceleration, as PX4.

A Kalman filter of one state, the command 0..1 of all rotors at which thrust equals weight. It
starts from MPC_THR_HOVER and runs more than a metre above where the vehicle took off.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.constants import GRAVITY

from ..state.clock import LOOP_S
from ..state.vehicle_status import STAGE_FLIGHT
from .vector import clamp

MIN_HEIGHT = 1.0  # above where it took off [m]
FIRST_NOISE = 5.0  # variance of the acceleration, to begin with [(m/s^2)^2]
NOISE_RANGE = (1.0, 400.0)  # of that variance
SLOW_S, LEARN_S = 1.0, 2.0  # time constants of the residual and of the noise [s]
KNOWN = 1e-3  # variance below which the estimate is used
KNOWN_S = 2.0  # and for so long [s]
OFFSET = 0.2  # mean test ratio from which the estimate is let go
BUMP = 1e3  # by how much faster then its variance grows


@njit
def _start(v, q):
    v.hover_estimate = clamp(q.MPC_THR_HOVER, 0.1, 0.9)
    v.hover_var = q.HTE_HT_ERR_INIT * q.HTE_HT_ERR_INIT
    v.hover_noise = FIRST_NOISE
    v.hover_residual = v.hover_ratio = v.hover_known_s = 0.0
    v.hover_valid = v.been_high = False


@njit
def _fuse(v, q, vel, lift, acc):
    """One measurement: the vertical acceleration [m/s^2] at a lift of 0..1."""
    hover = v.hover_estimate
    speed = max(math.hypot(vel[0], vel[1]) - q.HTE_VXY_THR, abs(vel[2]) - q.HTE_VZ_THR)
    scale = max(speed + 1.0, 1.0)
    dt = LOOP_S
    process = q.HTE_HT_NOISE * q.HTE_HT_NOISE * dt * dt
    v.hover_var += process
    slope = -GRAVITY * lift / (hover * hover)
    noise = v.hover_noise * scale * scale
    innovation = acc - GRAVITY * (lift / hover - 1.0)
    variance = slope * v.hover_var * slope + noise
    ratio = innovation * innovation / (q.HTE_ACC_GATE * q.HTE_ACC_GATE * variance)
    residual = innovation
    if ratio < 1.0:
        gain = v.hover_var * slope / variance
        low = clamp(q.MPC_THR_HOVER - q.HTE_THR_RANGE, 0.0, 0.8)
        high = clamp(q.MPC_THR_HOVER + q.HTE_THR_RANGE, 0.2, 0.9)
        hover = clamp(hover + gain * innovation, low, high)
        v.hover_var = clamp((1.0 - gain * slope) * v.hover_var, 1e-10, 1.0)
        residual = acc - GRAVITY * (lift / hover - 1.0)
    elif abs(v.hover_ratio) > OFFSET:
        v.hover_var += BUMP * process
    share = dt / (SLOW_S + dt)
    v.hover_residual += share * (residual - v.hover_residual)
    v.hover_ratio += share * (math.copysign(min(ratio, 1.0), innovation) - v.hover_ratio)
    off = residual - v.hover_residual
    share = dt / (LEARN_S + dt)
    v.hover_noise = clamp(
        (1.0 - share) * v.hover_noise + share * (off * off + slope * v.hover_var * slope),
        *NOISE_RANGE,
    )
    v.hover_known_s = (
        v.hover_known_s + dt if v.hover_var < KNOWN and (v.hover_valid or ratio < 1.0) else 0.0
    )
    v.hover_estimate = hover


@njit
def estimate_hover_thrust(
    v: np.void, q: np.void, pos: np.ndarray, vel: np.ndarray, acc: float, thrust: float
) -> None:
    """One step of LOOP_S; writes v.hover, and keeps the thrust where that changes.

    Args:
        v: Record of VEHICLE_STATUS.
        q: Record of its parameters.
        pos, vel: (3,) estimates [m, m/s].
        acc: Vertical acceleration, world, upwards [m/s^2]; NaN = not known.
        thrust: Collective, 0..1, along the body's z axis of the attitude set-point.
    """
    if not v.armed:
        _start(v, q)
    v.been_high = not v.landed and (v.been_high or pos[2] - v.home[2] > MIN_HEIGHT)
    if v.armed and v.been_high and math.isfinite(acc):
        x, y = v.sp_quat[0], v.sp_quat[1]
        _fuse(v, q, vel, thrust * (1.0 - 2.0 * (x * x + y * y)), acc)
    else:
        v.hover_known_s = 0.0
    v.hover_valid = v.hover_known_s >= KNOWN_S
    if v.stage != STAGE_FLIGHT or not q.MPC_USE_HTE:
        v.hover = clamp(q.MPC_THR_HOVER, 0.1, 0.9)
    elif v.hover_valid:
        if math.isfinite(v.sp_acc[2]):
            v.vel_integral[2] += (v.sp_acc[2] + GRAVITY) * (v.hover / v.hover_estimate - 1.0)
        v.hover = v.hover_estimate
