"""Final actuator commands: applies direct actuator set-points, removes NaN."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from ..vehicle_status import ACTUATORS


@njit
def finish(status: np.ndarray, direct: np.ndarray, commands: np.ndarray,
           flying: np.ndarray) -> None:
    """Applies direct actuator set-points; stops actuators whose command is not finite.

    Args:
        status: (N,) of VEHICLE_STATUS.
        direct: (N, A) direct actuator set-points.
        commands: (N, A) of the mixer, modified in place.
        flying: (N,) bool, output: in the air with actuators running.
    """
    for i in range(commands.shape[0]):
        flying[i] = status[i].armed and not status[i].landed
        given = status[i].armed and status[i].sp_kind == ACTUATORS
        for k in range(commands.shape[1]):
            if given:
                commands[i, k] = direct[i, k]
            if not math.isfinite(commands[i, k]):
                commands[i, k] = 0.0
