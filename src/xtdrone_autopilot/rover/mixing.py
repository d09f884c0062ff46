"""How rovers and boats are driven: kind of drive, geometry, outputs of throttle and steering."""

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import PROPELLER, SERVO, WHEEL

from ..parameters.store import ParameterStore
from ..state.vehicle_status import BOAT, DIFFERENTIAL, STEERED

# What PX4's airframes 1060 (rover), 1070 (boat), both driven by rover_pos_control, and 1061
# (r1_rover) set, or leave at the default of no other vehicle type.
_AIRFRAMES = {
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
# The pseudo-inverse of two propellers 1 m beside the centre with CA_ROTORn_CT 6.5: PX4 normalises
# their thrust to the command, their torque not.
_BOAT_TURN = 1.0 / (2.0 * 6.5)


def drives(fleet: FleetModel) -> np.ndarray:
    """(N,) int8: BOAT with propellers, STEERED where a servo turns a wheel, else DIFFERENTIAL."""
    kinds = fleet.actuator["kind"]
    return np.select(
        [(kinds == PROPELLER).any(axis=1), _steering(fleet).any(axis=1)],
        [BOAT, STEERED],
        DIFFERENTIAL,
    ).astype(np.int8)


def mixing(fleet: FleetModel) -> np.ndarray:
    """(N, A, 2) commands per unit of throttle and of turning to the right, all -1..1."""
    a = fleet.actuator
    found = np.zeros((*a.shape, 2))
    driven = np.isin(a["kind"], (WHEEL, PROPELLER))
    found[..., 0] = driven
    share = np.select([drives(fleet) == BOAT, drives(fleet) == DIFFERENTIAL], [_BOAT_TURN, 1.0])
    found[..., 1] = np.where(driven, share[:, None] * np.sign(a["pos"][..., 1]), 0.0)
    for i, k in zip(*np.nonzero(_steering(fleet)), strict=True):
        # A turn about an axis that points up is to the left.
        upwards = fleet.joint[i, a[i, k]["joint"]]["axis"][2] * a[i, k]["input_scaling"]
        found[i, k, 1] = -np.sign(upwards)
    return found


def set_defaults(
    parameters: ParameterStore, fleet: FleetModel, rovers: np.ndarray, drive: np.ndarray
) -> None:
    """Writes the values of PX4's airframes, and what follows from the wheels' geometry.

    Args:
        parameters: Of the fleet.
        fleet: The vehicles.
        rovers: (N,) bool, those that this is for.
        drive: (N,) as drives() gives it.
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


def _hub(vehicle, tyre) -> np.ndarray:
    """Hub of a tyre in the frame of the vehicle's base, all joints at zero (3,) [m]."""
    pos, body = np.array(tyre.pos), vehicle.bodies[tyre.body]
    return pos if body.parent < 0 else pos + np.array(body.pos)


def _steering(fleet) -> np.ndarray:
    """(N, A) bool, the servos that turn a body on which a tyre is."""
    a, tyres = fleet.actuator, fleet.tyre
    count = np.arange(tyres.shape[1]) < fleet.vehicle["tyres"][:, None]
    carries = (a["body"][:, :, None] == tyres["body"][:, None, :]) & count[:, None, :]
    return (a["kind"] == SERVO) & carries.any(axis=2)
