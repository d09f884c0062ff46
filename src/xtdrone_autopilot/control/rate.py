"""Body-rate control: rate error to torque.

Torque is the inertia times a PI law on the rate error, plus the gyroscopic term
of XTDrone (2).
"""

from typing import Any

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.snapshot import Memory
from xtdrone_dynamics.compiled import njit

from ..vehicle_status import ACTUATORS, NO_SET_POINT
from .vector import clamp

RATE_INTEGRAL_MAX = 6.0  # [rad/s^2]


@njit
def _control_one(v, q, rate, dt):
    """Writes the torque set-point (body) [N m] to v.sp_torque."""
    gains = (q.XT_ROLLRATE_P, q.XT_PITCHRATE_P, q.XT_YAWRATE_P)
    integrals = (q.XT_ROLLRATE_I, q.XT_PITCHRATE_I, q.XT_YAWRATE_I)
    ax = ay = az = 0.0
    for k in range(3):
        error = v.sp_rates[k] - rate[k]
        a = gains[k] * error + v.rate_integral[k]
        if not v.landed:
            v.rate_integral[k] = clamp(v.rate_integral[k] + integrals[k] * error * dt,
                                       -RATE_INTEGRAL_MAX, RATE_INTEGRAL_MAX)
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
def _control(status, parameters, estimates, dt):
    for i in range(status.shape[0]):
        v = status[i]
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
        _control(status, parameters, estimator.records, dt)
