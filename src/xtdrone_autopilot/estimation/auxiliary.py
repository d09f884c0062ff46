"""Fusion of an auxiliary velocity, such as that relative to a landing target that stands still."""

import numpy as np

from xtdrone_dynamics.compiled import njit

from .filter import fuse, inject
from .state import VEL, VehicleEkf

_GATE = 5.0  # innovation gate, as PX4's [standard deviations]


@njit
def fuse_horizontal_velocity(
    ekf: VehicleEkf, t_us: int, vel: np.ndarray, variance: np.ndarray
) -> None:
    """Fuses a velocity over ground where another source aids position or velocity, as PX4 does.

    Args:
        ekf: Filter of the vehicle.
        t_us: Present time [us].
        vel: (2,) east and north [m/s].
        variance: (2,) [m^2/s^2].
    """
    state = ekf.state
    if t_us - max(state.gps_t, state.vision_t) > ekf.tuning.aid_time:
        return
    dx, h, gain = ekf.work[0], ekf.work[1], ekf.work[2]
    for k in range(2):
        h[:] = 0.0
        h[VEL + k] = 1.0
        fuse(ekf.cov, dx, h, gain, vel[k] - state.vel[k], variance[k], _GATE)
    inject(ekf, dx)
