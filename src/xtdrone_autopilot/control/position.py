"""Position control, as in PX4: position error and feed-forward to a limited velocity."""

import math
from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import fleet_kernel, njit

from ..state.vehicle_status import TRAJECTORY
from .vector import limit_norm2


@njit
def _wanted(pos, vel, gain, at):
    """Velocity set-point of one axis; NaN if neither position nor velocity is controlled."""
    if math.isfinite(pos):
        return (vel if math.isfinite(vel) else 0.0) + gain * (pos - at)
    return vel


@njit
def _control_one(v, q, pos):
    vx = _wanted(v.sp_pos[0], v.sp_vel[0], q.MPC_XY_P, pos[0])
    vy = _wanted(v.sp_pos[1], v.sp_vel[1], q.MPC_XY_P, pos[1])
    vz = _wanted(v.sp_pos[2], v.sp_vel[2], q.MPC_Z_P, pos[2])
    if math.isfinite(vx) and math.isfinite(vy):
        vx, vy = limit_norm2(vx, vy, q.MPC_XY_VEL_MAX)
    v.sp_vel[0] = vx
    v.sp_vel[1] = vy
    if math.isfinite(vz):
        vz = min(max(vz, -v.sink_max), v.climb_max)
    v.sp_vel[2] = vz


@fleet_kernel
def control_fleet(status: np.ndarray, parameters: np.ndarray, estimates: np.ndarray) -> None:
    """The loop for a fleet: records of VEHICLE_STATUS, of parameters and of the estimates (N,)."""
    for i in range(status.shape[0]):
        if status[i].vehicle_type == MULTICOPTER and status[i].sp_kind == TRAJECTORY:
            _control_one(status[i], parameters[i], estimates[i].pos)


class PositionControl(Memory):
    """Position loop of a fleet; implements parts.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel):
        """fleet: Not used by this loop."""

    def step(self, status: np.ndarray, parameters: np.ndarray, estimator: Any, dt: float) -> None:
        """One step for the vehicles whose sp_kind is TRAJECTORY."""
        control_fleet(status, parameters, estimator.records)
