"""Final actuator commands: direct actuator set-points, and commands at rest."""

import math

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import NO_ACTUATOR, SERVO, SURFACE
from xtdrone_dynamics.abilities.camera_mount import mount_servos
from xtdrone_dynamics.abilities.effectiveness import in_hover
from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, vehicle_types
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit

from ..state.vehicle_status import ACTUATORS, TO_FIXED_WING, TO_HOVER


def at_rest(fleet: FleetModel) -> np.ndarray:
    """Returns commands (N, A) at rest: rotors off, joints in the model's initial position."""
    actuator = fleet.actuator
    jointed = np.isin(actuator["kind"], (SERVO, SURFACE)) & (actuator["input_scaling"] != 0.0)
    initial = -actuator["zero_position_armed"] / np.where(jointed, actuator["input_scaling"], 1.0)
    return np.where(jointed, np.clip(initial, actuator["lower"], actuator["upper"]), 0.0)


def not_allocated(fleet: FleetModel) -> np.ndarray:
    """Returns (N, A) bool: actuators of multicopters that no loop commands, such as an arm's."""
    steers = (abs(in_hover(fleet)).max(axis=1) > 0.0) | fleet.rotor_mask
    unallocated = ~steers & ~np.isin(fleet.actuator["kind"], (NO_ACTUATOR, SURFACE))
    for i, vehicle in enumerate(fleet.vehicles):
        unallocated[i, list(mount_servos(vehicle))] = False
    return unallocated & (vehicle_types(fleet) == MULTICOPTER)[:, None]


@njit
def flies_on_rotors(vehicle: Record) -> bool:
    """Returns whether a vehicle is a multicopter in the air that is not in a transition."""
    return bool(
        vehicle.armed
        and not vehicle.landed
        and vehicle.vehicle_type == MULTICOPTER
        and vehicle.hover_weight == 1.0
        and vehicle.vtol_state != TO_FIXED_WING
        and vehicle.vtol_state != TO_HOVER
    )


@fleet_kernel
def mark_flying(status: np.ndarray, flying: np.ndarray) -> None:
    """Writes flies_on_rotors() of records of VEHICLE_STATUS (N,) to flying (N,) bool."""
    for i in range(status.shape[0]):
        flying[i] = flies_on_rotors(status[i])


@fleet_kernel
def finish(
    status: np.ndarray,
    direct: np.ndarray,
    own: np.ndarray,
    rest: np.ndarray,
    commands: np.ndarray,
    flying: np.ndarray,
) -> None:
    """Applies direct actuator set-points; disarmed or non-finite actuators are at rest.

    Args:
        status: (N,) of VEHICLE_STATUS.
        direct: (N, A) direct actuator set-points; NaN = none.
        own: (N, A) bool from not_allocated(): actuators that always follow `direct`.
        rest: (N, A) from at_rest().
        commands: (N, A) commands of the mixer, modified in place.
        flying: (N,) bool output, see flies_on_rotors().
    """
    for i in range(commands.shape[0]):
        vehicle = status[i]
        flying[i] = flies_on_rotors(vehicle)
        is_direct = vehicle.armed and vehicle.sp_kind == ACTUATORS
        for k in range(commands.shape[1]):
            if is_direct or (own[i, k] and math.isfinite(direct[i, k])):
                commands[i, k] = direct[i, k]
            if not vehicle.armed or not math.isfinite(commands[i, k]):
                commands[i, k] = rest[i, k]
