"""Hover thrust estimator: PX4's zero_order_hover_thrust_ekf.

A Kalman filter with one state: the common command 0..1 of all rotors at which thrust equals weight.
It starts from MPC_THR_HOVER and runs more than a metre above the place of take-off.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import Record, njit
from xtdrone_dynamics.constants import GRAVITY

from ..state.clock import LOOP_S
from ..state.vehicle_status import STAGE_FLIGHT
from .vector import clamp

MIN_HEIGHT = 1.0  # height above home at which the estimator starts [m]
ACC_VAR_INIT = 5.0  # initial variance of the acceleration [(m/s^2)^2]
ACC_VAR_RANGE = (1.0, 400.0)  # limits of that variance [(m/s^2)^2]
LPF_TIME_CONSTANT_S = 1.0  # low-pass filters of residual and test ratio [s]
NOISE_LEARNING_TIME_CONSTANT_S = 2.0  # low-pass filter of the acceleration's variance [s]
VALID_VAR = 1e-3  # the estimate is valid below this variance
VALID_S = 2.0  # time for which the variance has to stay below it [s]
TEST_RATIO_LPF_MAX = 0.2  # above this mean test ratio the variance grows faster
VAR_BUMP = 1e3  # factor of that growth


@njit
def _start(vehicle: Record, params: Record) -> None:
    """Sets the estimator to its initial state."""
    vehicle.hover_estimate = clamp(params.MPC_THR_HOVER, 0.1, 0.9)
    vehicle.hover_var = params.HTE_HT_ERR_INIT * params.HTE_HT_ERR_INIT
    vehicle.hover_acc_var = ACC_VAR_INIT
    vehicle.hover_residual = vehicle.hover_test_ratio = vehicle.hover_good_s = 0.0
    vehicle.hover_valid, vehicle.max_height = False, 0.0


@njit
def _fuse(vehicle: Record, params: Record, vel: np.ndarray, lift: float, acc: float) -> None:
    """Fuses a vertical acceleration `acc` [m/s^2] at a vertical thrust `lift` 0..1.

    vel is the estimated velocity (3,), world [m/s].
    """
    hover = vehicle.hover_estimate
    speed = max(math.hypot(vel[0], vel[1]) - params.HTE_VXY_THR, abs(vel[2]) - params.HTE_VZ_THR)
    scale = max(speed + 1.0, 1.0)
    dt = LOOP_S
    process = params.HTE_HT_NOISE * params.HTE_HT_NOISE * dt * dt
    vehicle.hover_var += process
    slope = -GRAVITY * lift / (hover * hover)
    noise = vehicle.hover_acc_var * scale * scale
    innovation = acc - GRAVITY * (lift / hover - 1.0)
    variance = slope * vehicle.hover_var * slope + noise
    ratio = innovation * innovation / (params.HTE_ACC_GATE * params.HTE_ACC_GATE * variance)
    residual = innovation
    if ratio < 1.0:
        gain = vehicle.hover_var * slope / variance
        low = clamp(params.MPC_THR_HOVER - params.HTE_THR_RANGE, 0.0, 0.8)
        high = clamp(params.MPC_THR_HOVER + params.HTE_THR_RANGE, 0.2, 0.9)
        hover = clamp(hover + gain * innovation, low, high)
        vehicle.hover_var = clamp((1.0 - gain * slope) * vehicle.hover_var, 1e-10, 1.0)
        residual = acc - GRAVITY * (lift / hover - 1.0)
    elif abs(vehicle.hover_test_ratio) > TEST_RATIO_LPF_MAX:
        vehicle.hover_var += VAR_BUMP * process
    alpha = dt / (LPF_TIME_CONSTANT_S + dt)
    vehicle.hover_residual += alpha * (residual - vehicle.hover_residual)
    vehicle.hover_test_ratio += alpha * (
        math.copysign(min(ratio, 1.0), innovation) - vehicle.hover_test_ratio
    )
    deviation = residual - vehicle.hover_residual
    alpha = dt / (NOISE_LEARNING_TIME_CONSTANT_S + dt)
    vehicle.hover_acc_var = clamp(
        (1.0 - alpha) * vehicle.hover_acc_var
        + alpha * (deviation * deviation + slope * vehicle.hover_var * slope),
        *ACC_VAR_RANGE,
    )
    vehicle.hover_good_s = (
        vehicle.hover_good_s + dt
        if vehicle.hover_var < VALID_VAR and (vehicle.hover_valid or ratio < 1.0)
        else 0.0
    )
    vehicle.hover_estimate = hover


@njit
def estimate_hover_thrust(
    vehicle: Record, params: Record, pos: np.ndarray, vel: np.ndarray, acc: float, thrust: float
) -> None:
    """Steps the estimator by LOOP_S and writes `hover`; its changes leave the thrust continuous.

    Args:
        vehicle: Record of VEHICLE_STATUS.
        params: Record of the parameters.
        pos, vel: (3,) estimated position and velocity, world [m], [m/s].
        acc: Vertical acceleration, world, upwards [m/s^2]; NaN = not known.
        thrust: Collective thrust 0..1 along the z axis of the attitude set-point.
    """
    if not vehicle.armed:
        _start(vehicle, params)
    if vehicle.landed:
        vehicle.max_height = 0.0
    else:
        vehicle.max_height = max(vehicle.max_height, pos[2] - vehicle.home[2])
    if vehicle.armed and vehicle.max_height > MIN_HEIGHT and math.isfinite(acc):
        x, y = vehicle.sp_quat[0], vehicle.sp_quat[1]
        _fuse(vehicle, params, vel, thrust * (1.0 - 2.0 * (x * x + y * y)), acc)
    else:
        vehicle.hover_good_s = 0.0
    vehicle.hover_valid = vehicle.hover_good_s >= VALID_S
    if vehicle.stage != STAGE_FLIGHT or not params.MPC_USE_HTE:
        vehicle.hover = clamp(params.MPC_THR_HOVER, 0.1, 0.9)
    elif vehicle.hover_valid:
        if math.isfinite(vehicle.sp_acc[2]):
            vehicle.vel_integral[2] += (vehicle.sp_acc[2] + GRAVITY) * (
                vehicle.hover / vehicle.hover_estimate - 1.0
            )
        vehicle.hover = vehicle.hover_estimate
