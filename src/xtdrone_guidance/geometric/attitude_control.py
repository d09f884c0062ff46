"""Attitude control by the geometric error on SO(3): attitude to body rates."""

import math
from typing import ClassVar

import numpy as np

from xtdrone_autopilot.control.attitude import rate_limits
from xtdrone_autopilot.control.vector import clamp
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.vehicle_status import ATTITUDE, TRAJECTORY
from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit
from xtdrone_dynamics.quaternion import multiply, rotate_inverse
from xtdrone_dynamics.shapes import Vector

from .velocity_control import Turn


@njit
def rotation_error(
    x: float, y: float, z: float, w: float, sx: float, sy: float, sz: float, sw: float
) -> Vector:
    """Returns e_R = (R_d^T R - R^T R_d)^v / 2, body.

    With the rotation R^T R_d by an angle about an axis it is -sin(angle) axis: in the quaternion's
    terms -2 qw (qx, qy, qz).

    Args:
        x, y, z, w: Attitude, body to world.
        sx, sy, sz, sw: Attitude set-point, body to world.
    """
    ex, ey, ez, ew = multiply(-x, -y, -z, w, sx, sy, sz, sw)
    return -2.0 * ew * ex, -2.0 * ew * ey, -2.0 * ew * ez


@njit
def _control_one(vehicle: Record, params: Record, quat: np.ndarray, turn: np.ndarray) -> None:
    """Writes the rate set-points of one vehicle with attitude quat (4,), and rates turn (3,)."""
    x, y, z, w = quat[0], quat[1], quat[2], quat[3]
    set_point = vehicle.sp_quat
    ex, ey, ez = rotation_error(x, y, z, w, set_point[0], set_point[1], set_point[2], set_point[3])
    yaw_rate = vehicle.sp_yaw_rate if math.isfinite(vehicle.sp_yaw_rate) else 0.0
    rx, ry, rz = rotate_inverse(x, y, z, w, 0.0, 0.0, yaw_rate)
    limits = rate_limits(params)
    rates = vehicle.sp_rates
    rates[0] = clamp(turn[0] + rx - params.MC_ROLL_P * ex, -limits[0], limits[0])
    rates[1] = clamp(turn[1] + ry - params.MC_PITCH_P * ey, -limits[1], limits[1])
    rates[2] = clamp(turn[2] + rz - params.MC_YAW_P * ez, -limits[2], limits[2])


@fleet_kernel
def control_fleet(
    status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray, turn: np.ndarray
) -> None:
    """Writes the rate set-points of a fleet.

    Args:
        status, parameters, estimates: (N,) records of VEHICLE_STATUS, parameters and ESTIMATE.
        turn: (N, 3) body rates of the trajectory [rad/s].
    """
    for i in range(len(status)):
        vehicle = status[i]
        if vehicle.vehicle_type == MULTICOPTER and vehicle.sp_kind in (TRAJECTORY, ATTITUDE):
            _control_one(vehicle, parameters[i], estimates[i].quat, turn[i])


class Se3AttitudeControl(Memory):
    """SE(3): error of attitude to body rates, the shortest way for all three axes alike."""

    MEMORY: ClassVar[tuple[str, ...]] = ("_turn",)

    def __init__(self, fleet: FleetModel) -> None:
        """Needs nothing of the fleet."""
        self._turn = np.zeros((fleet.n, 3))
        self.remember_start()

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps the vehicles whose sp_kind is TRAJECTORY or ATTITUDE."""
        control_fleet(status, parameters, estimator.records, self._turn)


class MellingerAttitudeControl(Se3AttitudeControl):
    """Mellinger and Kumar: as SE(3), and it turns with the trajectory of their velocity loop."""

    FEEDBACK = Turn

    def take_feedback(self, feedback: Turn) -> None:
        """Takes the rates of the trajectory; see interfaces.UsesFeedback."""
        self._turn = feedback.rates
        self.remember_start()
