"""Attitude control: quaternion error to body rates, tilt before yaw as in PX4."""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.quaternion import multiply

from ..vehicle_status import ATTITUDE, TRAJECTORY
from .vector import clamp


@njit
def _control_one(v, q, quat):
    x, y, z, w = quat[0], quat[1], quat[2], quat[3]
    # Rotation from the current attitude to the set-point, in the body frame.
    ex, ey, ez, ew = multiply(-x, -y, -z, w,
                              v.sp_quat[0], v.sp_quat[1], v.sp_quat[2], v.sp_quat[3])
    # Split: error = tilt * turn, where turn is about the body's z axis.
    norm = math.sqrt(ez * ez + ew * ew)
    if norm < 1e-9:  # upside down: turn is arbitrary
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
    rate_yaw = q.MC_YAW_P * turn
    tilt_sine = math.sqrt(rx * rx + ry * ry)
    scale = 2.0
    if tilt_sine > 1e-9:
        scale = 2.0 * math.atan2(tilt_sine, abs(rw)) / tilt_sine
    limit_r, limit_p = math.radians(q.MC_ROLLRATE_MAX), math.radians(q.MC_PITCHRATE_MAX)
    limit_y = math.radians(q.MC_YAWRATE_MAX)
    v.sp_rates[0] = clamp(q.MC_ROLL_P * scale * tilt_sign * rx, -limit_r, limit_r)
    v.sp_rates[1] = clamp(q.MC_PITCH_P * scale * tilt_sign * ry, -limit_p, limit_p)
    # The yaw rate set-point is about the world's z axis: project it on the body's axes.
    yaw_rate = v.sp_yaw_rate if math.isfinite(v.sp_yaw_rate) else 0.0
    v.sp_rates[0] += yaw_rate * 2.0 * (x * z - w * y)
    v.sp_rates[1] += yaw_rate * 2.0 * (y * z + w * x)
    v.sp_rates[2] = clamp(q.MC_YAW_WEIGHT / 0.4 * rate_yaw
                          + yaw_rate * (1.0 - 2.0 * (x * x + y * y)), -limit_y, limit_y)


@njit
def control_fleet(status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray) -> None:
    """The loop for a fleet: records of VEHICLE_STATUS, of parameters and of the estimates (N,)."""
    for i in range(status.shape[0]):
        v = status[i]
        if v.vehicle_type == MULTICOPTER and v.sp_kind in (TRAJECTORY, ATTITUDE):
            _control_one(v, parameters[i], estimates[i].quat)


class AttitudeControl(Memory):
    """Attitude loop of a fleet; implements parts.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel):
        """fleet: Not used by this loop."""

    def step(self, status: np.ndarray, parameters: np.ndarray, estimator: Any, dt: float) -> None:
        """One step for the vehicles whose sp_kind is TRAJECTORY or ATTITUDE."""
        control_fleet(status, parameters, estimator.records)
