"""Body-rate control by INDI: the torque for the wanted angular acceleration, less the disturbance.

In place of an integral part, which takes a second to learn a torque, the disturbance is measured
within a few hundredths of one.
"""

import numpy as np

from xtdrone_autopilot.control.rate import rate_gains, torque_of
from xtdrone_autopilot.control.vector import clamp
from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.vehicle_status import ACTUATORS, NO_SET_POINT
from xtdrone_core import FleetModel
from xtdrone_core.modes import Mode
from xtdrone_dynamics.abilities.effectiveness import effectiveness, largest_thrust
from xtdrone_dynamics.abilities.vehicle_type import (
    FIXED_WING,
    MULTICOPTER,
    STANDARD_VTOL,
    TAILSITTER,
    TILTROTOR,
    lifting_rotors,
    vtol_types,
)
from xtdrone_dynamics.compiled import Record, fleet_kernel, njit

from .disturbance import IndiLoop
from .half_wings import in_air, turn_fleet

# Largest disturbance that is taken off, over the torque that the vehicle exerts about that axis.
# The ground that pushes at one foot is a disturbance, too, and must not be fought with all torque.
MAX_DISTURBANCE = 0.5
WING_GAINS = (16.0, 14.0, 6.0)  # of wings about roll, pitch and yaw axis [1/s]
MANUAL = int(Mode.MANUAL)


@njit
def _limited(vehicle: Record, axis: int, torque: np.ndarray, reach: np.ndarray) -> float:
    """Returns the disturbance about an axis that is taken off [N m]."""
    largest = vehicle.inertia[axis, axis] * vehicle.turn_max[axis] + reach[axis]
    limit = MAX_DISTURBANCE * largest
    return clamp(torque[axis], -limit, limit)


@njit
def control_one(
    vehicle: Record, params: Record, rate: np.ndarray, torque: np.ndarray, reach: np.ndarray
) -> None:
    """Writes sp_torque of one vehicle at body rates (3,) [rad/s]; see control_fleet()."""
    for axis in range(3):
        vehicle.rate_integral[axis] = 0.0
    if not vehicle.armed or vehicle.sp_kind == NO_SET_POINT or vehicle.sp_kind == ACTUATORS:
        for axis in range(3):
            vehicle.sp_torque[axis] = 0.0
        if vehicle.sp_kind != ACTUATORS or not vehicle.armed:
            vehicle.sp_thrust = 0.0
        return
    gains, _, _ = rate_gains(vehicle, params)
    j, wanted = vehicle.inertia, vehicle.sp_rates
    tx, ty, tz = torque_of(
        gains[0] * (wanted[0] - rate[0]),
        gains[1] * in_air(vehicle, reach) * (wanted[1] - rate[1]),
        gains[2] * (wanted[2] - rate[2]),
        rate[0],
        rate[1],
        rate[2],
        (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2]),
    )
    vehicle.sp_torque[0] = tx - _limited(vehicle, 0, torque, reach)
    vehicle.sp_torque[1] = ty - _limited(vehicle, 1, torque, reach)
    vehicle.sp_torque[2] = tz - _limited(vehicle, 2, torque, reach)


@njit
def control_wing(vehicle: Record, rate: np.ndarray) -> None:
    """Writes sp_torque of what flies on wings at body rates (3,) [rad/s]: zero if not wanted."""
    w, wanted, j = rate, vehicle.sp_rates, vehicle.inertia
    flies = vehicle.armed and not (vehicle.landed or vehicle.maybe_landed)
    if not flies or vehicle.mode == MANUAL or vehicle.sp_kind == ACTUATORS:
        for axis in range(3):
            vehicle.sp_torque[axis] = 0.0
        return
    # The wings of a tail-sitter roll about the body's z axis.
    upright = vehicle.vtol_type == TAILSITTER
    first, last = (WING_GAINS[2], WING_GAINS[0]) if upright else (WING_GAINS[0], WING_GAINS[2])
    vehicle.sp_torque[0], vehicle.sp_torque[1], vehicle.sp_torque[2] = torque_of(
        first * (wanted[0] - w[0]),
        WING_GAINS[1] * (wanted[1] - w[1]),
        last * (wanted[2] - w[2]),
        w[0],
        w[1],
        w[2],
        (j[0, 0], j[1, 1], j[2, 2], j[0, 1], j[0, 2], j[1, 2]),
    )


@fleet_kernel
def control_fleet(
    status: np.ndarray,
    parameters: np.ndarray,
    estimates: np.ndarray,
    torque: np.ndarray,
    reach: np.ndarray,
) -> None:
    """Writes sp_torque of a fleet.

    Args:
        status, parameters, estimates: (N,) records of VEHICLE_STATUS, parameters and ESTIMATE.
        torque: (N, 3) torque that is taken off: the disturbance, body [N m].
        reach: (N, 3) torque that a vehicle exerts beyond its turn_max [N m].
    """
    for i in range(len(status)):
        if status[i].vehicle_type == MULTICOPTER:
            control_one(status[i], parameters[i], estimates[i].ang_vel, torque[i], reach[i])
        elif status[i].vehicle_type == FIXED_WING:
            control_wing(status[i], estimates[i].ang_vel)


def rotor_reach(fleet: FleetModel) -> np.ndarray:
    """Torque of the rotors of VTOLs about each axis, (N, 3) [N m], which turn_max leaves out.

    Zero for other vehicles, and for tail-sitters: in transitions their elevons would be a
    disturbance.
    """
    vtol = np.isin(vtol_types(fleet), (STANDARD_VTOL, TILTROTOR))[:, None]
    thrust = np.where(lifting_rotors(fleet), largest_thrust(fleet), 0.0)[:, None]
    torque: np.ndarray = 0.5 * (abs(effectiveness(fleet)[:, 3:]) * thrust).sum(axis=-1)
    return np.where(vtol, torque, 0.0)


class IndiRateControl(IndiLoop):
    """INDI: rate error to torque, with wind and faults measured in place of an integral."""

    def __init__(self, fleet: FleetModel) -> None:
        """Finds the torque of the rotors of VTOLs."""
        self._rotors = rotor_reach(fleet)

    def step(
        self, status: np.ndarray, parameters: np.ndarray, estimator: Estimator, dt: float
    ) -> None:
        """Steps all vehicles; without a set-point, torque and thrust are zero."""
        wings = self.disturbance.wings
        if wings.any:
            turn_fleet(status, estimator.records, wings.sums, wings.reach, wings.turn)
        control_fleet(
            status,
            parameters,
            estimator.records,
            self.disturbance.torque,
            wings.reach + self._rotors,
        )
        if wings.any:
            status["sp_torque"] -= wings.level
