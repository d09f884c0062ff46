"""Position control: position error and velocity feed-forward to a limited velocity, as in PX4."""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit

from ..interfaces import Estimator
from ..state.vehicle_status import TRAJECTORY
from .vector import limit_norm2


@njit
def _velocity_set_point(sp_pos: float, sp_vel: float, gain: float, pos: float) -> float:
    """Returns the velocity set-point of one axis; NaN if neither is controlled [m/s]."""
    if math.isfinite(sp_pos):
        return (sp_vel if math.isfinite(sp_vel) else 0.0) + gain * (sp_pos - pos)
    return sp_vel


@njit
def _control_one(vehicle: Record, params: Record, pos: np.ndarray) -> None:
    """Writes the velocity set-point of one vehicle at pos (3,), world [m]."""
    vx = _velocity_set_point(vehicle.sp_pos[0], vehicle.sp_vel[0], params.MPC_XY_P, pos[0])
    vy = _velocity_set_point(vehicle.sp_pos[1], vehicle.sp_vel[1], params.MPC_XY_P, pos[1])
    vz = _velocity_set_point(vehicle.sp_pos[2], vehicle.sp_vel[2], params.MPC_Z_P, pos[2])
    if math.isfinite(vx) and math.isfinite(vy):
        vx, vy = limit_norm2(vx, vy, params.MPC_XY_VEL_MAX)
    vehicle.sp_vel[0] = vx
    vehicle.sp_vel[1] = vy
    if math.isfinite(vz):
        vz = min(max(vz, -vehicle.sink_max), vehicle.climb_max)
    vehicle.sp_vel[2] = vz


@fleet_kernel
def control_fleet(status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray) -> None:
    """Steps the loop of a fleet: (N,) records of VEHICLE_STATUS, of parameters and of ESTIMATE."""
    for i in range(status.shape[0]):
        if status[i].vehicle_type == MULTICOPTER and status[i].sp_kind == TRAJECTORY:
            _control_one(status[i], parameters[i], estimates[i].pos)


class PositionControl(Memory):
    """Position loop of a fleet; implements interfaces.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel) -> None:
        """Needs nothing of the fleet."""

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps the vehicles whose sp_kind is TRAJECTORY."""
        control_fleet(status, parameters, estimator.records)
