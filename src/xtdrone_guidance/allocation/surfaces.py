"""Allocation of torque to the control surfaces of planes and VTOLs, in increments (INDI).

What a deflection gives is known well, what it takes to hold an attitude is not: it depends on the
angle of attack, on the wake of the propeller and on gusts. Hence the torque that the motion shows
now is measured, and the surfaces turn from where they are by what gives the difference to the
torque that is wanted: u = u_f + G^+ (M - M_f), with all of it behind the same filter. G is the
effectiveness at the present airspeed, u_f the positions of the surfaces by their lag.

E. J. J. Smeur, Q. P. Chu, G. C. H. E. de Croon: Adaptive Incremental Nonlinear Dynamic Inversion
for Attitude Control of Micro Air Vehicles (2016).
"""

import math

import numpy as np

from xtdrone_autopilot.interfaces import Estimator
from xtdrone_autopilot.state.vehicle_status import NO_VTOL, ON_WINGS
from xtdrone_core import FleetModel
from xtdrone_core.fleet_model import SURFACE
from xtdrone_core.runs.snapshot import Memory
from xtdrone_dynamics.abilities.control_surfaces import surface_torque, wing_axes
from xtdrone_dynamics.abilities.vehicle_type import FIXED_WING, NOT_VTOL, vehicle_types, vtol_types

from .active_set import solve_change

REFERENCE = 15.0  # airspeed of surface_torque() [m/s]
CUT_OFF = 12.0  # of the filters, two equal poles [Hz]
# Weights of the errors of roll, pitch and yaw torque, for normalised rows of the effectiveness, and
# the weight of each deflection's change.
WEIGHTS = np.array([1.0, 1.0, 0.3])
MIN_WEIGHT = 1e-4


class Surfaces(Memory):
    """Surfaces of what flies on wings, which follow the torque of a rate loop.

    VTOLs have it from their wings' flight on; in hover and transitions PX4's laws move them.

    Attributes:
        planes: Indices of the planes and VTOLs that have surfaces.
    """

    MEMORY = ("_position", "_last_rate", "_deflections", "_torques")

    def __init__(self, fleet: FleetModel) -> None:
        """Starts with all surfaces in the middle."""
        self._fleet = fleet
        axes = np.array([wing_axes(vehicle) for vehicle in fleet.vehicles])
        self._effect = surface_torque(fleet) @ axes  # per command, body [N m]
        self._weights = (abs(axes) * WEIGHTS[:, None]).sum(axis=1)
        surfaces = fleet.actuator["kind"] == SURFACE
        self._used = surfaces & self._effect.any(axis=2)
        planes = (vehicle_types(fleet) == FIXED_WING) | (vtol_types(fleet) != NOT_VTOL)
        self.planes = np.flatnonzero(planes & self._used.any(axis=1))
        n, width = fleet.actuator.shape
        self._position, self._last_rate = np.zeros((n, width)), np.zeros((n, 3))
        self._deflections, self._torques = np.zeros((2, n, width)), np.zeros((2, n, 3))
        self.remember_start()

    def step(
        self,
        status: np.ndarray,
        parameters: np.ndarray,
        estimator: Estimator,
        dt: float,
        commands: np.ndarray,
    ) -> None:
        """Overwrites the commands (N, A) of the surfaces of planes with a torque set-point.

        Args:
            status, parameters: (N,) records of VEHICLE_STATUS and of the parameters.
            estimator: The fleet's estimated state.
            dt: Length of the step [s].
            commands: -1..1, as the loops of fixed wings gave them.
        """
        gain = 1.0 - math.exp(-2.0 * math.pi * CUT_OFF * dt)
        for i in self.planes:
            used = self._used[i]
            self._measure(i, estimator.ang_vel[i], gain, dt)
            flies = status["vtol_state"][i] in (NO_VTOL, ON_WINGS)
            if flies and status["sp_torque"][i].any():
                airspeed = _airspeed(estimator, i)
                scaled = np.clip(
                    airspeed, parameters["FW_AIRSPD_STALL"][i], parameters["FW_AIRSPD_MAX"][i]
                )
                commands[i, used] = self._allocate(
                    i, status["sp_torque"][i], (scaled / REFERENCE) ** 2
                )
            lag = np.maximum(self._fleet.actuator["time_constant"][i, used], 1e-6)
            self._position[i, used] += (1.0 - np.exp(-dt / lag)) * (
                commands[i, used] - self._position[i, used]
            )

    def _measure(self, i: int, rates: np.ndarray, gain: float, dt: float) -> None:
        """Filters the torque that a plane's motion shows, and the positions of its surfaces."""
        if dt <= 0.0 or not np.isfinite(rates).all():
            return
        inertia = self._fleet.vehicle["inertia"][i]
        torque = inertia @ (rates - self._last_rate[i]) / dt + np.cross(rates, inertia @ rates)
        self._last_rate[i] = rates
        for signal, filters in (
            (torque, self._torques[:, i]),
            (self._position[i], self._deflections[:, i]),
        ):
            filters[0] += gain * (signal - filters[0])
            filters[1] += gain * (filters[0] - filters[1])

    def _allocate(self, i: int, torque: np.ndarray, pressure: float) -> np.ndarray:
        """Commands of the surfaces of a plane for a torque (3,) [N m].

        Args:
            i: The plane.
            torque: Body [N m].
            pressure: Dynamic pressure over that of the reference airspeed.
        """
        used, actuator = self._used[i], self._fleet.actuator[i]
        effect = self._effect[i, used].T * pressure
        size = np.sqrt((effect**2).sum(axis=1))
        weights = self._weights[i] / np.maximum(size, 1e-9) ** 2
        now = self._deflections[1, i, used]
        change = solve_change(
            (effect.T * weights) @ effect + MIN_WEIGHT * np.eye(effect.shape[1]),
            (effect.T * weights) @ (torque - self._torques[1, i]),
            actuator["lower"][used] - now,
            actuator["upper"][used] - now,
        )
        return now + change


def _airspeed(estimator: Estimator, i: int) -> float:
    """Speed of a vehicle relative to the estimated wind, 0 where that is not known [m/s]."""
    wind = np.nan_to_num(estimator.wind[i])
    return float(np.linalg.norm(estimator.vel[i] - [wind[0], wind[1], 0.0]))
