"""Relaxed hover: constant rotor thrusts and body rates with which a quadrotor stays on the average.

It spins about an axis near its z axis, along which the thrust counts on the average. Where the axis
points is the reduced attitude: a linear quadratic regulator holds it, with the lag of the rotors,
for some rates of the spin on the way up to that at which drag ends it.
"""

import math
from typing import NamedTuple

import numpy as np

from xtdrone_core import FleetModel
from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.abilities.effectiveness import effectiveness, largest_thrust
from xtdrone_dynamics.abilities.vehicle_type import lifting_rotors
from xtdrone_dynamics.constants import GRAVITY

GRID = 8  # rates of the spin for which there are gains
SLOWEST, FASTEST = 0.2, 1.25  # of them, over the rate of the relaxed hover
# What is tried, the best first: lift over the weight, thrust of the rotor opposite to the lost one
# over the mean of the others, and by how much one of these gives more than their mean.
LIFTS = np.linspace(1.0, 0.5, 11)
OPPOSITES = np.linspace(0.5, 0.1, 9)
UNEQUAL = np.array([0.0, 0.05, -0.05, 0.1, -0.1, 0.15, -0.15, 0.2, -0.2, 0.25, -0.25])
MAX_TILT = 0.35  # of the axis of the spin from the body's z axis [rad]
MAX_LOAD = 0.93  # of the rotors' largest thrust
MAX_RATE = 25.0  # of the spin, up to which estimates of the attitude follow it [rad/s]
# Costs: of the axis, of rates [(s/rad)^2], of the collective and of each rotor over the weight.
AXIS_COST, RATE_COST, COLLECTIVE_COST, ROTOR_COST = 1.0, 0.01, 0.45, 0.11
ROTORS = 4


class RelaxedHover(NamedTuple):
    """How a vehicle flies without one rotor, at GRID rates of the spin."""

    rate: np.ndarray  # (GRID,) absolute, growing [rad/s]
    thrust: np.ndarray  # (GRID, 4) of the rotors [N]
    tilt_rate: np.ndarray  # (GRID, 2) body rates about x and y [rad/s]
    axis: np.ndarray  # (GRID, 3) axis of the spin, body
    gain: np.ndarray  # (GRID, 4, 8) thrusts for errors of rates, axis (x and y) and thrusts


def relaxed_hover(fleet: FleetModel, i: int, lost: int) -> RelaxedHover:
    """Returns how vehicle i flies without rotor `lost`.

    Raises:
        XtdroneError: It cannot: the message says why.
    """
    name = fleet.vehicles[i].type
    if fleet.n_rotors[i] != ROTORS or lifting_rotors(fleet)[i].sum() != ROTORS:
        raise XtdroneError(f"'{name}' has no four rotors that lift it, as a spin needs")
    if len(fleet.vehicles[i].bodies) > 1:
        raise XtdroneError(f"'{name}' has joints, which swing in a spin: give another mixer")
    body = _Body(fleet, i, lost)
    hover_rate, lift = body.hover()
    why = ""
    if not abs(hover_rate) < MAX_RATE:
        why = f"drag does not end the spin below {MAX_RATE:g} rad/s, up to which estimates hold"
    elif lift < 1.0:
        why = (
            f"in its spin of {abs(hover_rate):.1f} rad/s the other three can be steered with "
            f"{lift:.2f} of its weight at most"
        )
    if why:
        raise XtdroneError(
            f"'{name}' cannot keep its place in a spin without rotor {lost}: {why}; "
            "give another mixer than 'spin'"
        )
    rates = abs(hover_rate) * np.linspace(SLOWEST, FASTEST, GRID)
    rows = [body.steered(math.copysign(rate, hover_rate)) for rate in rates]
    return RelaxedHover(rates, *(np.array(column) for column in zip(*rows, strict=True)))


class _Body:
    """A quadrotor without one of its rotors."""

    def __init__(self, fleet: FleetModel, i: int, lost: int) -> None:
        rotors = fleet.actuator[i, :ROTORS]
        self._matrix = effectiveness(fleet)[i, 2:, :ROTORS]  # of lift and torques
        self.largest = largest_thrust(fleet)[i, :ROTORS]
        self._inertia = np.array(fleet.vehicle["inertia"][i])
        self.weight = float(fleet.vehicle["mass"][i]) * GRAVITY
        self._constant = rotors["motor_constant"]
        self._lag = 0.5 * (rotors["time_constant_up"] + rotors["time_constant_down"])
        squares = (np.array(rotors["pos"])[:, :2] ** 2).sum(axis=1)
        self._drag = rotors["rotor_drag_coefficient"] * squares
        way = np.sign(self._matrix[3])
        self._used = np.arange(ROTORS) != lost
        self._shares = _shares(self._used, way == way[lost])

    def hover(self) -> tuple[float, float]:
        """Returns the rate of the spin in relaxed hover [rad/s], and the lift over the weight."""
        rate = math.copysign(MAX_RATE, float(self._matrix[3] @ self._shares[0]))
        thrust = self._shares[0]
        for _ in range(10):
            thrust = self.thrusts(rate)
            rate = self.spin(thrust)
            if not abs(rate) < MAX_RATE:
                break
        return rate, round(float(self._matrix[0] @ thrust) / self.weight, 6)

    def thrusts(self, rate: float) -> np.ndarray:
        """Returns the best thrusts (4,) with which it can be steered at a rate of the spin [N]."""
        lift = self._shares @ self._matrix[0]
        each = self._shares / lift[:, None]
        all_lifts = (LIFTS[:, None, None] * self.weight * each).reshape(-1, ROTORS)
        tilt_rates = np.linalg.solve(self._gyroscopic(rate), self._matrix[1:3] @ all_lifts.T)
        tilts = np.arctan(np.linalg.norm(tilt_rates, axis=0) / abs(rate))
        fits = (all_lifts <= MAX_LOAD * self.largest).all(axis=1) & (tilts <= MAX_TILT)
        best = int(np.argmax(fits)) if fits.any() else int(np.argmin(tilts))
        thrust: np.ndarray = all_lifts[best]
        return thrust

    def spin(self, thrust: np.ndarray) -> float:
        """Returns the rate at which drag ends the spin [rad/s]."""
        drag = float(self._drag @ np.sqrt(thrust / self._constant))
        torque = float(self._matrix[3] @ thrust)
        return torque / drag if drag > 0.0 else math.copysign(math.inf, torque)

    def tilt_rate(self, thrust: np.ndarray, rate: float) -> np.ndarray:
        """Returns the rates (2,) about x and y whose gyroscopic torque the thrusts balance."""
        return np.linalg.solve(self._gyroscopic(rate), self._matrix[1:3] @ thrust)

    def steered(self, rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns thrust, tilt_rate, axis and gain at a rate of the spin; see RelaxedHover."""
        thrust = self.thrusts(rate)
        axis = np.array([*self.tilt_rate(thrust, rate), rate]) * math.copysign(1.0, rate)
        axis /= np.linalg.norm(axis)
        thrust = thrust / axis[2]
        return thrust, self.tilt_rate(thrust, rate), axis, self._regulator(rate, axis)

    def _gyroscopic(self, rate: float) -> np.ndarray:
        """Returns (2, 2), the torque about x and y for rates about them, in a spin."""
        j = self._inertia
        return rate * np.array([[-j[0, 1], j[2, 2] - j[1, 1]], [j[0, 0] - j[2, 2], j[0, 1]]])

    def _regulator(self, rate: float, axis: np.ndarray) -> np.ndarray:
        """Returns the gain (4, 8), zero for the lost rotor.

        The states are the rates about x and y, the axis's x and y, and the rotors' thrusts.
        """
        from scipy.linalg import solve_continuous_are

        used = np.flatnonzero(self._used)
        count = len(used)
        inverse = np.linalg.inv(self._inertia[:2, :2])
        a, b = np.zeros((4 + count, 4 + count)), np.zeros((4 + count, count))
        a[:2, :2] = -inverse @ self._gyroscopic(rate)
        a[:2, 4:] = inverse @ self._matrix[1:3, used]
        a[2, 1], a[2, 3] = -axis[2], rate
        a[3, 0], a[3, 2] = axis[2], -rate
        a[4:, 4:], b[4:] = -np.diag(1.0 / self._lag[used]), np.diag(1.0 / self._lag[used])
        cost = np.diag([RATE_COST, RATE_COST, AXIS_COST, AXIS_COST, *[1e-6] * count])
        cost[4:, 4:] += COLLECTIVE_COST / self.weight**2
        price = ROTOR_COST / self.weight**2 * np.eye(count)
        gain = np.linalg.solve(price, b.T @ solve_continuous_are(a, b, cost, price))
        out = np.zeros((ROTORS, 4 + ROTORS))
        out[np.ix_(used, [0, 1, 2, 3, *(4 + used)])] = gain
        return out


def _shares(used: np.ndarray, opposite: np.ndarray) -> np.ndarray:
    """Returns shares of the thrust (M, 4) that are tried, the best first; see OPPOSITES.

    Args:
        used: (4,) bool, all but the lost rotor.
        opposite: (4,) bool, those that turn as the lost one does.
    """
    one, other = np.flatnonzero(used & ~opposite)
    rows = []
    for share in OPPOSITES:
        for unequal in UNEQUAL:
            row = np.where(used & opposite, share, 0.0)
            row[one], row[other] = 1.0 + unequal, 1.0 - unequal
            rows.append(row)
    return np.array(rows)
