"""The type of each vehicle of a fleet, by what moves it: PX4's vehicle_status.vehicle_type."""

import numpy as np

from xtdrone_core import FleetModel, Vehicle
from xtdrone_core.fleet_model import PROPELLER, SERVO, SURFACE, WHEEL
from xtdrone_core.vehicle import Propeller

from .control_surfaces import cannot_glide, is_tailsitter, surface_signs
from .effectiveness import cannot_hover, in_hover, rank

MULTICOPTER, FIXED_WING, ROVER = 1, 2, 3  # PX4's numbers; a boat is a rover, too
NOT_VTOL, TAILSITTER, TILTROTOR, STANDARD_VTOL = -1, 0, 1, 2  # PX4's VT_TYPE
HALF_WINGED = (
    3  # beyond those: a tail-sitter on half wings, whose loops of hover fly it at all speeds
)
_NO_TYRE = "no driven wheel has a cylinder or sphere to roll on"
_PUSHED = "the flight stack flies no rotor that only pushes forwards: fly it by real PX4"
_ALONG = 0.99  # upward part of the direction in which half wings of a tail-sitter fly
_LEVEL = 1e-3  # fraction of a rotor's thrust upwards below which it only pushes


def vehicle_types(fleet: FleetModel) -> np.ndarray:
    """(N,) int8: MULTICOPTER, FIXED_WING or ROVER.

    What can hover is a multicopter, and what has nothing else to move by.
    """
    kinds = fleet.actuator["kind"]
    rolls = np.isin(kinds, (WHEEL, PROPELLER)).any(axis=1)
    winged = (kinds == SURFACE).any(axis=1)
    hovers = np.array([not why for why in cannot_hover(fleet)], dtype=np.bool_)
    return np.select([hovers, rolls, winged], [MULTICOPTER, ROVER, FIXED_WING], MULTICOPTER).astype(
        np.int8
    )


def vtol_types(fleet: FleetModel) -> np.ndarray:
    """(N,) int8: PX4's VT_TYPE of each vehicle, or NOT_VTOL.

    All have control surfaces. A standard VTOL hovers on some rotors and is pushed by others, the
    wings of a tail-sitter fly along the rotors' axes, servos tilt rotors of a tiltrotor forwards.
    """
    winged = (fleet.actuator["kind"] == SURFACE).any(axis=1)
    pushed = (fleet.rotor_mask & ~lifting_rotors(fleet)).any(axis=1)
    upright = np.array([is_tailsitter(vehicle) for vehicle in fleet.vehicles], dtype=np.bool_)
    hovers = winged & (vehicle_types(fleet) == MULTICOPTER)
    return np.select(
        [winged & pushed, hovers & upright, tilted_rotors(fleet).any(axis=1)],
        [STANDARD_VTOL, TAILSITTER, TILTROTOR],
        NOT_VTOL,
    ).astype(np.int8)


def half_winged(fleet: FleetModel) -> np.ndarray:
    """(N,) bool: tail-sitters on half wings, which fly along the axes of the rotors.

    vtol_types() leaves them out: only control loops that know half wings fly them as VTOLs.
    """
    hovers = vehicle_types(fleet) == MULTICOPTER
    along = [
        any(wing.body == 0 and wing.forward[2] > _ALONG for wing in vehicle.half_wings)
        for vehicle in fleet.vehicles
    ]
    return hovers & np.array(along, dtype=np.bool_)


def tilted_rotors(fleet: FleetModel) -> np.ndarray:
    """(N, A) bool: the rotors that servos tilt forwards, of winged vehicles that hover."""
    tilted = np.zeros_like(fleet.rotor_mask)
    servo = fleet.actuator["kind"] == SERVO
    winged = (fleet.actuator["kind"] == SURFACE).any(axis=1) & servo.any(axis=1)
    if not winged.any():
        return tilted
    forwards = servo & (in_hover(fleet)[:, 0] > 0.0)
    for i in np.flatnonzero(winged & (vehicle_types(fleet) == MULTICOPTER)):
        moved = set(fleet.actuator["body"][i, forwards[i]].tolist())
        for r in np.flatnonzero(fleet.rotor_mask[i]):
            body = fleet.actuator["body"][i, r]
            while body > 0 and body not in moved:
                body = fleet.body["parent"][i, body]
            tilted[i, r] = body > 0
    return tilted


def lifting_rotors(fleet: FleetModel) -> np.ndarray:
    """(N, A) bool: the rotors that carry a vehicle in hover; all of what is no standard VTOL."""
    lifting = fleet.rotor_mask.copy()
    winged = (fleet.actuator["kind"] == SURFACE).any(axis=1)
    if not winged.any():
        return lifting
    matrices = in_hover(fleet)
    for i in np.flatnonzero(winged & (vehicle_types(fleet) == MULTICOPTER)):
        if rank(matrices[i]) < 6:
            lifting[i] &= abs(matrices[i, 2]) >= _LEVEL
    return lifting


def cannot_fly(fleet: FleetModel) -> list[str]:
    """Reason why the flight stack cannot fly or drive each vehicle; empty where it can."""
    reasons = cannot_hover(fleet)
    matrices, signs, lifting = in_hover(fleet), surface_signs(fleet), lifting_rotors(fleet)
    for i, kind in enumerate(vehicle_types(fleet).tolist()):
        if kind == FIXED_WING:
            reasons[i] = cannot_glide(fleet.vehicles[i], signs[i])
        elif kind == ROVER:
            reasons[i] = _cannot_drive(fleet.vehicles[i])
        else:
            reasons[i] = reasons[i] or _pushed(matrices[i][:, lifting[i]])
    return reasons


def _cannot_drive(vehicle: Vehicle) -> str:
    """Returns the reason why nothing moves a rover or boat, or an empty string."""
    driven = any(tyre.wheel >= 0 for tyre in vehicle.tyres)
    screws = any(isinstance(actuator, Propeller) for actuator in vehicle.actuators)
    return "" if driven or screws else _NO_TYRE


def _pushed(matrix: np.ndarray) -> str:
    """Returns the reason why a vehicle with these columns (6, R) of rotors is not flown."""
    return _PUSHED if rank(matrix) < 6 and (abs(matrix[2]) < _LEVEL).any() else ""
