"""Drives of rovers and boats: kind, default parameters, and mixing of throttle and steering."""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import PROPELLER, SERVO, WHEEL
from xtdrone_core.vehicle import Tyre, Vehicle

from ..parameters.store import ParameterStore
from ..state.vehicle_status import BOAT, DIFFERENTIAL, STEERED

# Parameters of PX4's airframes 1060 (rover), 1070 (boat) and 1061 (r1_rover), where they differ
# from the defaults of the other vehicle types.
_AIRFRAMES: dict[int, dict[str, float]] = {
    STEERED: {
        "GND_L1_DIST": 5,
        "GND_L1_PERIOD": 10,
        "GND_SP_CTRL_MODE": 1,
        "GND_SPEED_I": 3,
        "GND_SPEED_IMAX": 0.125,
        "GND_SPEED_P": 0.25,
        "GND_SPEED_TRIM": 4,
        "GND_THR_CRUISE": 0.3,
        "GND_THR_MAX": 0.5,
        "GND_MAX_ANG": 0.6,
        "NAV_ACC_RAD": 0.5,
        "NAV_LOITER_RAD": 2,
    },
    BOAT: {
        "GND_L1_DIST": 5,
        "GND_L1_PERIOD": 100,
        "GND_SP_CTRL_MODE": 1,
        "GND_SPEED_I": 8,
        "GND_SPEED_IMAX": 0.125,
        "GND_SPEED_P": 2,
        "GND_SPEED_TRIM": 1,
        "GND_THR_CRUISE": 0.85,
        "GND_THR_MAX": 1,
        "GND_MAX_ANG": 0.6,
        "GND_WHEEL_BASE": 2,
        "NAV_ACC_RAD": 0.5,
        "NAV_LOITER_RAD": 2,
    },
    DIFFERENTIAL: {"NAV_ACC_RAD": 10, "NAV_LOITER_RAD": 80},
}
# Pseudo-inverse of two propellers 1 m beside the centre with CA_ROTORn_CT 6.5: PX4 normalises
# thrust to the command, but not torque.
_BOAT_TURN_GAIN = 1.0 / (2.0 * 6.5)


def drives(fleet: FleetModel) -> np.ndarray:
    """Returns (N,) int8: BOAT with propellers, STEERED with a steered wheel, else DIFFERENTIAL."""
    kinds = fleet.actuator["kind"]
    return np.select(
        [(kinds == PROPELLER).any(axis=1), _steering(fleet).any(axis=1)],
        [BOAT, STEERED],
        DIFFERENTIAL,
    ).astype(np.int8)


def mixing_matrix(fleet: FleetModel) -> np.ndarray:
    """Returns (N, A, 2): commands -1..1 per unit of throttle and of steering to the right."""
    actuator = fleet.actuator
    matrix = np.zeros((*actuator.shape, 2))
    driven = np.isin(actuator["kind"], (WHEEL, PROPELLER))
    matrix[..., 0] = driven
    turn = np.select([drives(fleet) == BOAT, drives(fleet) == DIFFERENTIAL], [_BOAT_TURN_GAIN, 1.0])
    matrix[..., 1] = np.where(driven, turn[:, None] * np.sign(actuator["pos"][..., 1]), 0.0)
    for i, k in zip(*np.nonzero(_steering(fleet)), strict=True):
        # A rotation about an axis that points up turns to the left.
        upwards = (
            fleet.joint[i, actuator[i, k]["joint"]]["axis"][2] * actuator[i, k]["input_scaling"]
        )
        matrix[i, k, 1] = -np.sign(upwards)
    return matrix


def set_defaults(
    parameters: ParameterStore, fleet: FleetModel, rovers: np.ndarray, drive: np.ndarray
) -> None:
    """Sets parameters to the values of PX4's airframes and of the wheels' geometry.

    Args:
        parameters: Parameters of the fleet.
        fleet: The vehicles.
        rovers: (N,) bool, rovers and boats.
        drive: (N,) from drives().
    """
    values = parameters.values
    for i in np.flatnonzero(rovers):
        for name, value in _AIRFRAMES[int(drive[i])].items():
            values[name][i] = value
        vehicle = fleet.vehicles[i]
        if drive[i] == BOAT or not vehicle.tyres:
            continue
        pos = np.array([_hub(vehicle, tyre) for tyre in vehicle.tyres])
        values["GND_WHEEL_BASE"][i] = max(np.ptp(pos[:, 0]), 0.01)
        if drive[i] == DIFFERENTIAL:
            first = next(tyre for tyre in vehicle.tyres if tyre.wheel >= 0)
            wheel = vehicle.actuators[first.wheel]
            values["RDD_WHEEL_BASE"][i] = np.ptp(pos[:, 1])
            values["RDD_WHEEL_RADIUS"][i] = first.radius
            values["RDD_WHEEL_SPEED"][i] = abs(wheel.input_scaling)


def _hub(vehicle: Vehicle, tyre: Tyre) -> np.ndarray:
    """Returns the hub of a tyre (3,) in the base frame, with all joints at zero [m]."""
    pos, body = np.array(tyre.pos), vehicle.bodies[tyre.body]
    return pos if body.parent < 0 else pos + np.array(body.pos)


def _steering(fleet: FleetModel) -> np.ndarray:
    """Returns (N, A) bool: servos that turn a body with a tyre."""
    actuator, tyres = fleet.actuator, fleet.tyre
    exists = np.arange(tyres.shape[1]) < fleet.vehicle["tyres"][:, None]
    carries = (actuator["body"][:, :, None] == tyres["body"][:, None, :]) & exists[:, None, :]
    return (actuator["kind"] == SERVO) & carries.any(axis=2)
