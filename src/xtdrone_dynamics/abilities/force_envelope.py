"""The force envelope of a vehicle: the forces that its rotors can exert without any torque.

In still air and at rest. A rotor that a servo tilts, and no other rotor with it, exerts any thrust
in any direction of the servo's range; other joints are at zero. Each farthest force is the solution
of a linear programme (Johansen and Fossen, "Control allocation - A survey", 2013).
"""

from collections.abc import Mapping

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import SERVO

from ..constants import GRAVITY
from .effectiveness import effectiveness, largest_thrust
from .linear_programme import maximise

_SAMPLES = 13  # positions in a servo's range, between which forces are interpolated
_DIRECTIONS = 12  # directions in which the force across the weight is computed


class ForceEnvelope:
    """The convex set of forces without torque of the first vehicle of a fleet."""

    def __init__(self, fleet: FleetModel):
        """Computes the wrenches of each rotor.

        Args:
            fleet: The vehicle, and others that are ignored.
        """
        self._weight = float(fleet.vehicle["mass"][0]) * GRAVITY
        rotors = np.flatnonzero(fleet.rotor_mask[0])
        largest = largest_thrust(fleet)[0, rotors]
        lower, upper = _ranges(fleet)
        fractions = np.linspace(0.0, 1.0, _SAMPLES) if (upper > lower).any() else np.zeros(1)
        positions = (lower + fraction * (upper - lower) for fraction in fractions)
        # A column for each rotor and position of its servo, at full thrust.
        self._wrenches = np.concatenate(
            [
                effectiveness(fleet, joint_pos=np.tile(position, (fleet.n, 1)))[0][:, rotors]
                * largest
                for position in positions
            ],
            axis=1,
        )
        self._owners = np.tile(np.eye(len(rotors)), len(fractions))

    def farthest(
        self, direction: np.ndarray | tuple[float, float, float], held: Mapping[int, float]
    ) -> np.ndarray | None:
        """The force of the set that lies farthest in a direction.

        Args:
            direction: (3,) axes of the base.
            held: Axes (0 to 2) along which the force has this value [N].

        Returns:
            (3,) [N], axes of the base; None if no force of the set has the values of `held`.
        """
        if not self._wrenches.size:
            return None
        rows = [3, 4, 5, *held]
        fractions = maximise(
            np.asarray(direction, float) @ self._wrenches[:3],
            (self._owners, np.ones(len(self._owners))),
            (self._wrenches[rows], np.array((0.0, 0.0, 0.0, *held.values()))),
        )
        if fractions is None:
            return None
        force: np.ndarray = self._wrenches[:3] @ fractions
        return force

    def across_weight(self) -> float:
        """The force [N] that it can exert in every horizontal direction while it hovers level."""
        angles = np.linspace(0.0, 2.0 * np.pi, _DIRECTIONS, endpoint=False)
        smallest = np.inf
        for direction in np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1):
            force = self.farthest(direction, {2: self._weight})
            smallest = min(smallest, 0.0 if force is None else float(direction @ force))
        return smallest

    def section(self, axis: int, count: int = 72) -> np.ndarray:
        """The corners (K, 3) [N] of the section without force along an axis (0 or 1)."""
        angles = np.linspace(0.0, 2.0 * np.pi, count)
        directions = np.zeros((count, 3))
        directions[:, 1 - axis], directions[:, 2] = np.cos(angles), np.sin(angles)
        corners = [self.farthest(direction, {axis: 0.0}) for direction in directions]
        return np.array([force for force in corners if force is not None]).reshape(-1, 3)


def _ranges(fleet: FleetModel) -> tuple[np.ndarray, np.ndarray]:
    """Range of each joint (J,) of the first vehicle that tilts one rotor alone; others at zero."""
    carried = [
        _joints_to(fleet, int(actuator["body"]))
        for actuator in fleet.actuator[0][fleet.rotor_mask[0]]
    ]
    lower, upper = np.zeros(fleet.joint.shape[1]), np.zeros(fleet.joint.shape[1])
    for actuator in fleet.actuator[0][fleet.actuator[0]["kind"] == SERVO]:
        j = int(actuator["joint"])
        tilted = [joints for joints in carried if j in joints]
        if len(tilted) == 1 and len(tilted[0]) == 1:
            ends = actuator["zero_position_armed"] + actuator["input_scaling"] * np.array(
                (actuator["lower"], actuator["upper"])
            )
            lower[j], upper[j] = np.clip(
                sorted(ends), actuator["joint_lower"], actuator["joint_upper"]
            )
    return lower, upper


def _joints_to(fleet: FleetModel, body: int) -> list[int]:
    """The joints between the first vehicle's base and a body."""
    joints = []
    while body > 0:
        joints.append(int(fleet.body["joint"][0, body]))
        body = int(fleet.body["parent"][0, body])
    return joints
