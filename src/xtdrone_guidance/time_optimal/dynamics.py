"""The rigid body of a multirotor as polynomials, for plans that use all it has."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.abilities.effectiveness import cannot_hover, effectiveness, largest_thrust
from xtdrone_dynamics.constants import GRAVITY

STATES = 13  # position, velocity, quaternion xyzw, body rates
POS, VEL, QUAT, RATES = slice(0, 3), slice(3, 6), slice(6, 10), slice(10, 13)


@dataclass(frozen=True)
class Multirotor:
    """What a multirotor weighs, and what its rotors and its body rates may reach."""

    mass: float  # [kg]
    inertia: np.ndarray  # (3, 3) about the centre of mass, body [kg m^2]
    effectiveness: np.ndarray  # (6, R) force [N] and torque [N m], body, per newton of thrust
    max_thrust: np.ndarray  # (R,) [N]
    max_rates: np.ndarray  # (3,) about the body's axes [rad/s]
    max_tilt: float = math.pi  # of the body's z axis from the vertical [rad]

    @classmethod
    def of(
        cls,
        fleet: FleetModel,
        max_rates: tuple[float, float, float],
        max_tilt: float = math.pi,
        thrust: float = 1.0,
    ) -> "Multirotor":
        """Returns that of the first vehicle of a fleet.

        Args:
            fleet: The vehicles.
            max_rates: Largest body rates [rad/s].
            max_tilt: Largest tilt [rad].
            thrust: Part of the largest thrust that is used, up to 1.

        Raises:
            XtdroneError: It cannot hover.
        """
        if obstacle := cannot_hover(fleet)[0]:
            raise XtdroneError(
                f"a time-optimal plan for {fleet.vehicles[0].type} is not possible, {obstacle}: "
                "choose a multirotor that hovers"
            )
        rotors = fleet.rotor_mask[0]
        vehicle = fleet.vehicle[0]
        return cls(
            float(vehicle["mass"]),
            np.array(vehicle["inertia"]).reshape(3, 3),
            effectiveness(fleet)[0][:, rotors],
            thrust * largest_thrust(fleet)[0, rotors],
            np.array(max_rates),
            max_tilt,
        )

    @property
    def thrust_to_weight(self) -> float:
        """Largest thrust of all rotors over the weight."""
        return float(self.effectiveness[2] @ self.max_thrust) / (self.mass * GRAVITY)


class Slopes(NamedTuple):
    """The rate of change of K states, and its derivatives."""

    rate: np.ndarray  # (K, 13)
    by_state: np.ndarray  # (K, 13, 13)
    by_command: np.ndarray  # (K, 13, R)


def _bilinear_rotation() -> np.ndarray:
    """Returns B (3, 3, 4, 4): row i of R(q) a is the sum over j of a_j q^T B_ij q, q xyzw."""
    out = np.zeros((3, 3, 4, 4))
    unit = np.eye(3)
    for i in range(3):
        for j in range(3):
            dot = unit[i] @ unit[j]
            out[i, j, :3, :3] = np.outer(unit[i], unit[j]) + np.outer(unit[j], unit[i])
            out[i, j, :3, :3] -= dot * unit
            out[i, j, :3, 3] = out[i, j, 3, :3] = np.cross(unit[j], unit[i])
            out[i, j, 3, 3] = dot
    return out


def _quaternion_rates() -> np.ndarray:
    """Returns W (3, 4, 4): the rate of a quaternion xyzw is the sum over k of rate_k W_k q."""
    x, y, z = (np.zeros((4, 4)) for _ in range(3))
    x[0, 3], x[1, 2], x[2, 1], x[3, 0] = 1, 1, -1, -1
    y[0, 2], y[1, 3], y[2, 0], y[3, 1] = -1, 1, 1, -1
    z[0, 1], z[1, 0], z[2, 3], z[3, 2] = 1, -1, 1, -1
    return 0.5 * np.array([x, y, z])


class RigidBody:
    """The dynamics x' = f(x, u) of a multirotor without drag; u are thrusts over the largest."""

    def __init__(self, multirotor: Multirotor) -> None:
        """Prepares the coefficients of the polynomials."""
        m = multirotor
        columns = m.effectiveness * m.max_thrust
        # The effectiveness is about the base's origin, like FleetModel's forces.
        self._accelerations = np.einsum("ijab,jr->irab", _bilinear_rotation(), columns[:3] / m.mass)
        self._turns = _quaternion_rates()
        inverse = np.linalg.inv(m.inertia)
        self._torques = inverse @ columns[3:]
        cross = np.zeros((3, 3, 3))
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            cross[i, j, k], cross[i, k, j] = 1.0, -1.0
        gyroscopic = -np.einsum("ai,ijk,kl->ajl", inverse, cross, m.inertia)
        self._gyroscopic = 0.5 * (gyroscopic + gyroscopic.transpose(0, 2, 1))
        self.rotors = columns.shape[1]

    def rate(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Returns f (K, 13) for states (K, 13) and commands (K, R)."""
        quat, rates = x[:, QUAT], x[:, RATES]
        acc = np.einsum("irab,ka,kb,kr->ki", self._accelerations, quat, quat, u, optimize=True)
        acc[:, 2] -= GRAVITY
        turn = np.einsum("cab,kc,kb->ka", self._turns, rates, quat)
        swing = u @ self._torques.T
        swing += np.einsum("ijl,kj,kl->ki", self._gyroscopic, rates, rates)
        return np.hstack([x[:, VEL], acc, turn, swing])

    def slopes(self, x: np.ndarray, u: np.ndarray) -> Slopes:
        """Returns f with its derivatives for states (K, 13) and commands (K, R)."""
        quat, rates = x[:, QUAT], x[:, RATES]
        by_state = np.zeros((len(x), STATES, STATES))
        by_command = np.zeros((len(x), STATES, self.rotors))
        by_state[:, POS, VEL] = np.eye(3)
        pulled = np.einsum("irab,kb->kira", self._accelerations, quat)
        by_state[:, VEL, QUAT] = 2.0 * np.einsum("kira,kr->kia", pulled, u)
        by_command[:, VEL] = np.einsum("kira,ka->kir", pulled, quat)
        by_state[:, QUAT, QUAT] = np.einsum("cab,kc->kab", self._turns, rates)
        by_state[:, QUAT, RATES] = np.einsum("cab,kb->kac", self._turns, quat)
        by_state[:, RATES, RATES] = 2.0 * np.einsum("ijl,kl->kij", self._gyroscopic, rates)
        by_command[:, RATES] = self._torques
        return Slopes(self.rate(x, u), by_state, by_command)

    def curvature(self, x: np.ndarray, u: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Returns second derivatives (K, 13 + R, 13 + R) of the sum of weights (K, 13) times f."""
        quat = x[:, QUAT]
        out = np.zeros((len(x), STATES + self.rotors, STATES + self.rotors))
        command = slice(STATES, STATES + self.rotors)
        pulled = np.einsum("ki,irab->krab", weights[:, VEL], self._accelerations)
        out[:, QUAT, QUAT] = 2.0 * np.einsum("krab,kr->kab", pulled, u)
        out[:, QUAT, command] = 2.0 * np.einsum("krab,kb->kar", pulled, quat)
        out[:, QUAT, RATES] = np.einsum("ka,cab->kbc", weights[:, QUAT], self._turns)
        out[:, RATES, RATES] = 2.0 * np.einsum("ki,ijl->kjl", weights[:, RATES], self._gyroscopic)
        out[:, command, QUAT] = out[:, QUAT, command].transpose(0, 2, 1)
        out[:, RATES, QUAT] = out[:, QUAT, RATES].transpose(0, 2, 1)
        return out
