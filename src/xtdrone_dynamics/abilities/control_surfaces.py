"""Finds which axis each control surface turns a vehicle about, from the forces on its wings."""

import math

import numpy as np

from xtdrone_core import FleetModel, Vehicle
from xtdrone_core.vehicle import Surface

from ..forces import wing

_SPEED = 15.0  # airspeed at which the torques are compared [m/s]
_DEFLECTION = 0.1  # [rad]
_STRONG = 0.5  # fraction of the strongest torque about an axis from which a surface serves it
_ALONG = math.cos(math.radians(45.0))
_WEAK = 0.02  # fraction of the largest torque below which an axis is not controlled


def wing_axes(vehicle: Vehicle) -> np.ndarray:
    """Forward, right and down of a vehicle that flies on its wings, in the base's frame.

    Those of the base, but of a tail-sitter, whose wings fly along the base's z axis.

    Returns:
        (3, 3) with an axis in each row.
    """
    if is_tailsitter(vehicle):
        return np.array([(0.0, 0.0, 1.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0)])
    return np.diag((1.0, -1.0, -1.0))


def is_tailsitter(vehicle: Vehicle) -> bool:
    """Whether the largest wing of a vehicle flies along its z axis."""
    largest = max(vehicle.wings, key=lambda each: each.area, default=None)
    return largest is not None and abs(largest.forward[2]) > _ALONG


def surface_torque(fleet: FleetModel) -> np.ndarray:
    """Torque of each control surface in level flight at 15 m/s without an angle of attack.

    Returns:
        (N, A, 3) per unit of command, about the forward, right and down axes [N m].
    """
    out = np.zeros((*fleet.actuator.shape, 3))
    for i, vehicle in enumerate(fleet.vehicles):
        axes = wing_axes(vehicle)
        for k, lifting in enumerate(vehicle.wings):
            if lifting.control < 0:
                continue
            driven = vehicle.actuators[lifting.control]
            if not isinstance(driven, Surface):
                continue
            record = fleet.wing[i, k]
            either = [
                np.array(wing.forces(record, side * _DEFLECTION, 1.0, *(_SPEED * axes[0])))
                for side in (1.0, -1.0)
            ]
            change = (either[0] - either[1]) / (2.0 * _DEFLECTION)
            torque = np.cross(lifting.pos, change[:3]) + change[3:]
            out[i, lifting.control] += axes @ torque * driven.input_scaling
    return out


def surface_signs(fleet: FleetModel) -> np.ndarray:
    """Returns by how much a torque command of -1..1 deflects each surface.

    A surface serves the axes about which it turns the vehicle at least half as strongly as the
    strongest one, in full: ailerons roll, an elevator pitch, elevons both.

    Returns:
        (N, A, 3) of -1, 0 or 1, for roll to the right, pitch upwards and yaw to the right.
    """
    torque = surface_torque(fleet)
    if not torque.shape[1]:
        return torque
    strongest = abs(torque).max(axis=1, keepdims=True)
    controlled = strongest > _WEAK * strongest.max(axis=2, keepdims=True)
    return np.where((abs(torque) >= _STRONG * strongest) & controlled, np.sign(torque), 0.0)


def cannot_glide(vehicle: Vehicle, signs: np.ndarray) -> str:
    """Returns the reason why a vehicle cannot fly as a fixed wing, or an empty string.

    Args:
        vehicle: The vehicle.
        signs: (A, 3) of surface_signs.
    """
    missing = [
        axis
        for axis, there in zip(("roll", "pitch"), signs.any(axis=0)[:2], strict=True)
        if not there
    ]
    if missing:
        return f"no control surface for {' and '.join(missing)}"
    return "" if vehicle.rotors else "no rotor that drives it"
