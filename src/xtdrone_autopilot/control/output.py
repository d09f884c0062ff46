"""Final actuator commands: applies direct actuator set-points, removes NaN."""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import SERVO, SURFACE
from xtdrone_dynamics.compiled import njit

from ..vehicle_status import ACTUATORS


def at_rest(fleet: FleetModel) -> np.ndarray:
    """Commands (N, A) of a vehicle that stands: rotors off, joints where the model is drawn."""
    a = fleet.actuator
    jointed = np.isin(a["kind"], (SERVO, SURFACE)) & (a["input_scaling"] != 0.0)
    drawn = -a["zero_position_armed"] / np.where(jointed, a["input_scaling"], 1.0)
    return np.where(jointed, np.clip(drawn, a["lower"], a["upper"]), 0.0)


@njit
def finish(status: np.ndarray, direct: np.ndarray, rest: np.ndarray, commands: np.ndarray,
           flying: np.ndarray) -> None:
    """Applies direct actuator set-points; what is disarmed or not finite is at rest.

    Args:
        status: (N,) of VEHICLE_STATUS.
        direct: (N, A) direct actuator set-points.
        rest: (N, A) of at_rest().
        commands: (N, A) of the mixer, modified in place.
        flying: (N,) bool, output: in the air with actuators running.
    """
    for i in range(commands.shape[0]):
        flying[i] = status[i].armed and not status[i].landed
        given = status[i].armed and status[i].sp_kind == ACTUATORS
        for k in range(commands.shape[1]):
            if given:
                commands[i, k] = direct[i, k]
            if not status[i].armed or not math.isfinite(commands[i, k]):
                commands[i, k] = rest[i, k]
