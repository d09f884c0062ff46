"""Body-rate control: rate error to torque.

Torque is the inertia times a PI law on the rate error, plus the gyroscopic term
of XTDrone (2).
"""

from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER
from xtdrone_dynamics.compiled import njit

from ..vehicle_status import ACTUATORS, NO_SET_POINT
from .vector import clamp

# PX4's gains give normalised torques, which mean another angular acceleration for each vehicle;
# this loop's give the acceleration itself. A parameter acts relative to its value in PX4's iris:
# where this loop has these gains [1/s], [1/s^2] and this limit [rad/s^2].
TILT_P, YAW_P, TILT_I, YAW_I, LIMIT = 20.0, 8.0, 20.0, 4.0, 6.0
PX4_TILT_P, PX4_YAW_P, PX4_TILT_I, PX4_YAW_I, PX4_LIMIT = \
    np.array([0.15, 0.2, 0.2, 0.1, 0.3], dtype=np.float32).tolist()


@njit
def _control_one(v, q, rate, dt):
    """Writes the torque set-point (body) [N m] to v.sp_torque."""
    gains = (TILT_P * q.MC_ROLLRATE_K * (q.MC_ROLLRATE_P / PX4_TILT_P),
             TILT_P * q.MC_PITCHRATE_K * (q.MC_PITCHRATE_P / PX4_TILT_P),
             YAW_P * q.MC_YAWRATE_K * (q.MC_YAWRATE_P / PX4_YAW_P))
    integrals = (TILT_I * q.MC_ROLLRATE_K * (q.MC_ROLLRATE_I / PX4_TILT_I),
                 TILT_I * q.MC_PITCHRATE_K * (q.MC_PITCHRATE_I / PX4_TILT_I),
                 YAW_I * q.MC_YAWRATE_K * (q.MC_YAWRATE_I / PX4_YAW_I))
    limits = (LIMIT * (q.MC_RR_INT_LIM / PX4_LIMIT), LIMIT * (q.MC_PR_INT_LIM / PX4_LIMIT),
              LIMIT * (q.MC_YR_INT_LIM / PX4_LIMIT))
    ax = ay = az = 0.0
    for k in range(3):
        error = v.sp_rates[k] - rate[k]
        a = gains[k] * error + v.rate_integral[k]
        if not (v.landed or v.maybe_landed):
            v.rate_integral[k] = clamp(v.rate_integral[k] + integrals[k] * error * dt,
                                       -limits[k], limits[k])
        if k == 0:
            ax = a
        elif k == 1:
            ay = a
        else:
            az = a
    j = v.inertia
    lx = j[0, 0] * rate[0] + j[0, 1] * rate[1] + j[0, 2] * rate[2]
    ly = j[1, 0] * rate[0] + j[1, 1] * rate[1] + j[1, 2] * rate[2]
    lz = j[2, 0] * rate[0] + j[2, 1] * rate[1] + j[2, 2] * rate[2]
    v.sp_torque[0] = (j[0, 0] * ax + j[0, 1] * ay + j[0, 2] * az) + rate[1] * lz - rate[2] * ly
    v.sp_torque[1] = (j[1, 0] * ax + j[1, 1] * ay + j[1, 2] * az) + rate[2] * lx - rate[0] * lz
    v.sp_torque[2] = (j[2, 0] * ax + j[2, 1] * ay + j[2, 2] * az) + rate[0] * ly - rate[1] * lx


@njit
def control_fleet(status, parameters, estimates, dt):
    for i in range(status.shape[0]):
        v = status[i]
        if v.vehicle_type != MULTICOPTER:
            continue
        if v.armed and v.sp_kind != NO_SET_POINT and v.sp_kind != ACTUATORS:
            _control_one(v, parameters[i], estimates[i].ang_vel, dt)
            continue
        for k in range(3):
            v.rate_integral[k] = 0.0
            v.sp_torque[k] = 0.0
        if v.sp_kind != ACTUATORS or not v.armed:
            v.sp_thrust = 0.0


class RateControl(Memory):
    """Rate loop of a fleet; implements parts.ControlLoop."""

    MEMORY = ()

    def __init__(self, fleet: FleetModel):
        """fleet: Not used by this loop; the inertia is in the status records."""

    def step(self, status: np.ndarray, parameters: np.ndarray, estimator: Any, dt: float) -> None:
        """One step of dt [s]; without a set-point, torque and thrust are zero."""
        control_fleet(status, parameters, estimator.records, dt)
