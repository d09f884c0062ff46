"""Allocation: turns thrust and torque into the commands of a multirotor's rotors."""

import numpy as np
import numpy.typing as npt

from xtdrone_core import FleetModel, ScenarioError, Vehicle
from xtdrone_dynamics.abilities.effectiveness import effectiveness, largest_thrust


class Allocation:
    """Pseudo-inverse of the effectiveness of a vehicle's rotors, Pegasus (5)-(7).

    Examples:
        >>> import xtdrone as xd
        >>> allocation = xd.Allocation(xd.load_vehicle("iris"))
        >>> allocation.commands(1.545 * 9.81, (0.0, 0.0, 0.0)).round(2)
        array([0.71, 0.71, 0.71, 0.71])
    """

    def __init__(self, vehicle: Vehicle) -> None:
        """Takes one vehicle.

        Raises:
            ScenarioError: Its rotors cannot push up and turn it about all axes.
        """
        fleet = FleetModel.of([vehicle])
        rotors = fleet.rotor_mask[0]
        matrix = effectiveness(fleet)[0][2:, rotors]
        if np.linalg.matrix_rank(matrix) < 4:
            raise ScenarioError(
                f"the rotors of '{vehicle.type}' cannot push up and turn about all "
                "axes: allocate by a method of your own"
            )
        self._inverse, self._max_thrust = np.linalg.pinv(matrix), largest_thrust(fleet)[0, rotors]
        self._records, self._rotors = fleet.actuator[0, rotors], rotors

    def thrusts(self, thrust: float, torque: npt.ArrayLike) -> np.ndarray:
        """Returns thrust (R,) of each rotor [N], cut off at its limits.

        Args:
            thrust: Along the body's z axis [N].
            torque: (3,) body [N m].
        """
        wanted = self._inverse @ np.array([thrust, *np.asarray(torque, dtype=float)])
        return np.clip(wanted, 0.0, self._max_thrust)

    def commands(self, thrust: float, torque: npt.ArrayLike) -> np.ndarray:
        """Commands (A,) of all actuators; NaN for those that are no rotors.

        Args:
            thrust: Along the body's z axis [N].
            torque: (3,) body [N m].
        """
        r = self._records
        speed = np.sqrt(self.thrusts(thrust, torque) / r["motor_constant"])
        out = np.full(len(self._rotors), np.nan)
        out[self._rotors] = np.clip(
            (speed - r["zero_position_armed"]) / r["input_scaling"], r["lower"], r["upper"]
        )
        return out
