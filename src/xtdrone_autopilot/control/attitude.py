"""Attitude control: quaternion error to body rates, with priority of tilt over yaw, as in PX4.

D. Brescianini, M. Hehn, R. D'Andrea: Nonlinear Quadrocopter Attitude Control (2013), which PX4's
mc_att_control follows.
"""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.quaternion import multiply
from xtdrone_dynamics.shapes import Vector

from ..interfaces import Estimator
from ..state.vehicle_status import ATTITUDE, TRAJECTORY
from .vector import clamp


@njit
def body_rates(
    x: float,
    y: float,
    z: float,
    w: float,
    sx: float,
    sy: float,
    sz: float,
    sw: float,
    yaw_rate: float,
    gains: Vector,
    weight: float,
    limits: Vector,
) -> Vector:
    """Returns the body rates that turn an attitude towards its set-point [rad/s].

    Args:
        x, y, z, w: Attitude, body to world.
        sx, sy, sz, sw: Attitude set-point, body to world.
        yaw_rate: Feed-forward about the world's z axis [rad/s].
        gains: MC_ROLL_P, MC_PITCH_P, MC_YAW_P [1/s].
        weight: MC_YAW_WEIGHT.
        limits: Largest body rates [rad/s].
    """
    # Rotation from the current attitude to the set-point, in the body frame.
    ex, ey, ez, ew = multiply(-x, -y, -z, w, sx, sy, sz, sw)
    # Split the error into a tilt and a turn about the body's z axis: error = tilt * turn.
    norm = math.sqrt(ez * ez + ew * ew)
    if norm < 1e-9:  # upside down: the turn is arbitrary
        tz, tw = 0.0, 1.0
    else:
        tz, tw = ez / norm, ew / norm
    rx, ry, _, rw = multiply(ex, ey, ez, ew, 0.0, 0.0, -tz, tw)
    tilt_sign = 1.0 if rw >= 0.0 else -1.0
    turn = 2.0 * math.atan2(tz, tw)
    if turn > math.pi:
        turn -= 2.0 * math.pi
    elif turn < -math.pi:
        turn += 2.0 * math.pi
    rate_yaw = gains[2] * turn
    tilt_sine = math.sqrt(rx * rx + ry * ry)
    scale = 2.0
    if tilt_sine > 1e-9:
        scale = 2.0 * math.atan2(tilt_sine, abs(rw)) / tilt_sine
    roll = clamp(gains[0] * scale * tilt_sign * rx, -limits[0], limits[0])
    pitch = clamp(gains[1] * scale * tilt_sign * ry, -limits[1], limits[1])
    # The yaw rate set-point is about the world's z axis: project it on the body's axes.
    return (
        roll + yaw_rate * 2.0 * (x * z - w * y),
        pitch + yaw_rate * 2.0 * (y * z + w * x),
        clamp(
            weight / 0.4 * rate_yaw + yaw_rate * (1.0 - 2.0 * (x * x + y * y)),
            -limits[2],
            limits[2],
        ),
    )


@njit
def rate_limits(params: Record) -> Vector:
    """Returns the largest body rates, by MC_*RATE_MAX [rad/s]."""
    return (
        math.radians(params.MC_ROLLRATE_MAX),
        math.radians(params.MC_PITCHRATE_MAX),
        math.radians(params.MC_YAWRATE_MAX),
    )


@njit
def _control_one(vehicle: Record, params: Record, quat: np.ndarray) -> None:
    """Writes the rate set-points of one vehicle with attitude quat (4,), xyzw, body to world."""
    set_point = vehicle.sp_quat
    yaw_rate = vehicle.sp_yaw_rate if math.isfinite(vehicle.sp_yaw_rate) else 0.0
    vehicle.sp_rates[0], vehicle.sp_rates[1], vehicle.sp_rates[2] = body_rates(
        quat[0],
        quat[1],
        quat[2],
        quat[3],
        set_point[0],
        set_point[1],
        set_point[2],
        set_point[3],
        yaw_rate,
        (params.MC_ROLL_P, params.MC_PITCH_P, params.MC_YAW_P),
        params.MC_YAW_WEIGHT,
        rate_limits(params),
    )


@fleet_kernel
def control_fleet(status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray) -> None:
    """Steps the loop of a fleet: (N,) records of VEHICLE_STATUS, of parameters and of ESTIMATE."""
    for i in range(status.shape[0]):
        vehicle = status[i]
        if vehicle.vehicle_type == MULTICOPTER and vehicle.sp_kind in (TRAJECTORY, ATTITUDE):
            _control_one(vehicle, parameters[i], estimates[i].quat)


class AttitudeControl(Memory):
    """Attitude loop of a fleet; implements interfaces.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel) -> None:
        """Needs nothing of the fleet."""

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps the vehicles whose sp_kind is TRAJECTORY or ATTITUDE."""
        control_fleet(status, parameters, estimator.records)
