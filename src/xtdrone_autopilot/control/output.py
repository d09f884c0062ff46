"""Final actuator commands: applies direct actuator set-points, removes NaN."""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import NO_ACTUATOR, SERVO, SURFACE
from xtdrone_dynamics.abilities.camera_mount import mount_servos
from xtdrone_dynamics.abilities.effectiveness import in_hover
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, vehicle_types
from xtdrone_dynamics.compiled import fleet_kernel

from ..state.vehicle_status import ACTUATORS, TO_FIXED_WING, TO_HOVER


def at_rest(fleet: FleetModel) -> np.ndarray:
    """Commands (N, A) of a vehicle that stands: rotors off, joints where the model is drawn."""
    a = fleet.actuator
    jointed = np.isin(a["kind"], (SERVO, SURFACE)) & (a["input_scaling"] != 0.0)
    drawn = -a["zero_position_armed"] / np.where(jointed, a["input_scaling"], 1.0)
    return np.where(jointed, np.clip(drawn, a["lower"], a["upper"]), 0.0)


def not_allocated(fleet: FleetModel) -> np.ndarray:
    """(N, A) bool: actuators of multicopters that no loop commands, such as an arm's servos."""
    steers = (abs(in_hover(fleet)).max(axis=1) > 0.0) | fleet.rotor_mask
    others = ~steers & ~np.isin(fleet.actuator["kind"], (NO_ACTUATOR, SURFACE))
    for i, vehicle in enumerate(fleet.vehicles):
        others[i, list(mount_servos(vehicle))] = False
    return others & (vehicle_types(fleet) == MULTICOPTER)[:, None]


@fleet_kernel
def finish(
    status: np.ndarray,
    direct: np.ndarray,
    own: np.ndarray,
    rest: np.ndarray,
    commands: np.ndarray,
    flying: np.ndarray,
) -> None:
    """Applies direct actuator set-points; what is disarmed or not finite is at rest.

    Args:
        status: (N,) of VEHICLE_STATUS.
        direct: (N, A) direct actuator set-points.
        own: (N, A) bool, of not_allocated(): follow `direct` whatever flies the others.
        rest: (N, A) of at_rest().
        commands: (N, A) of the mixer, modified in place.
        flying: (N,) bool, output: a multicopter in the air with actuators running, no VTOL that
            changes over.
    """
    for i in range(commands.shape[0]):
        v = status[i]
        flying[i] = (
            v.armed
            and not v.landed
            and v.vehicle_type == MULTICOPTER
            and v.hover_weight == 1.0
            and v.vtol_state != TO_FIXED_WING
            and v.vtol_state != TO_HOVER
        )
        given = v.armed and v.sp_kind == ACTUATORS
        for k in range(commands.shape[1]):
            if given or (own[i, k] and math.isfinite(direct[i, k])):
                commands[i, k] = direct[i, k]
            if not v.armed or not math.isfinite(commands[i, k]):
                commands[i, k] = rest[i, k]
