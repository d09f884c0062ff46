"""The commands of a simulation as sequences of what to wait for, for its plain and async form."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from xtdrone_core.errors import XtdroneError
from xtdrone_core.state import SetPoints
from xtdrone_sim.simulation import Simulation as Lockstep

from .operator import Operator

Vehicles = int | str | Iterable[int | str] | np.ndarray | None  # None: all
_REQUESTS = ("mode", "arm")  # fields of SetPoints that have their own commands
_NEAR = 0.3  # a vehicle so near its goal is there [m]


class Wait(NamedTuple):
    """A state that a command waits for."""

    condition: Callable[[], ArrayLike]  # True, or an array of it
    what: str  # words for the error message
    time_out: float  # [s] of simulated time


class Commands:
    """Requests to the Operator of a flight; each yields what to wait for before it goes on."""

    def __init__(self, flight: Lockstep, operator: Operator | None, flown: np.ndarray) -> None:
        """Takes the Operator, None where an Agent flies all, and (N,) flown by backends."""
        self._flight, self._operator, self._flown = flight, operator, flown

    def fly(self, operator: Operator, flown: np.ndarray | None = None) -> None:
        """Takes the Operator of a fleet that has changed; flown: None for no backends."""
        n = self._flight.scenario.n
        self._operator, self._flown = (
            operator,
            np.zeros(n, dtype=np.bool_) if flown is None else flown,
        )

    def arm(self, vehicles: Vehicles, time_out: float) -> Iterator[Wait]:
        """Arms vehicles; see Simulation.arm()."""
        mask, operator = self._chosen(vehicles)
        autopilot = self._flight.autopilot
        yield Wait(
            lambda: autopilot.estimates().ready[mask] | autopilot.estimates().armed[mask],
            "ready to arm",
            time_out,
        )
        operator.hold(mask, autopilot.estimates().pos)
        yield Wait(lambda: autopilot.estimates().armed[mask], "armed", time_out)

    def takeoff(self, height: float, vehicles: Vehicles, time_out: float) -> Iterator[Wait]:
        """Takes off; see Simulation.takeoff()."""
        mask, operator = self._chosen(vehicles)
        unarmed = np.flatnonzero(mask & np.isnan(operator.launch_pos[:, 0]))
        if len(unarmed):
            name = self._flight.scenario.vehicles[unarmed[0]].name
            raise XtdroneError(f"'{name}' is not armed: call arm() first")
        yield self._go(mask, operator, operator.launch_pos + (0.0, 0.0, height), np.nan, time_out)

    def goto(
        self, pos: ArrayLike, vehicles: Vehicles, yaw: ArrayLike, time_out: float
    ) -> Iterator[Wait]:
        """Flies to positions; see Simulation.goto()."""
        mask, operator = self._chosen(vehicles)
        target = np.full((len(mask), 3), np.nan)
        target[mask] = pos
        yield self._go(mask, operator, target, yaw, time_out)

    def land(self, vehicles: Vehicles, time_out: float) -> Iterator[Wait]:
        """Lands vehicles; see Simulation.land()."""
        mask, operator = self._chosen(vehicles)
        operator.land(mask)
        yield Wait(
            lambda: ~self._flight.autopilot.estimates().armed[mask], "landed and disarmed", time_out
        )

    def velocity(self, vel: ArrayLike, vehicles: Vehicles, yaw_rate: ArrayLike) -> None:
        """Flies at velocities; see Simulation.velocity()."""
        mask, operator = self._chosen(vehicles)
        velocity, rate = np.full((len(mask), 3), np.nan), np.full(len(mask), np.nan)
        velocity[mask], rate[mask] = vel, yaw_rate
        operator.fly(mask, vel=velocity, yaw_rate=rate)

    def set_points(self, set_points: SetPoints, vehicles: Vehicles) -> None:
        """Flies set-points; see Simulation.set_points()."""
        mask, operator = self._chosen(vehicles)
        names = [name for name in set_points.records.dtype.names or () if name not in _REQUESTS]
        requested = {name: getattr(set_points, name) for name in names}
        if set_points.actuators.shape[1]:
            requested["actuators"] = set_points.actuators
        operator.fly(mask, **requested)

    def _chosen(self, vehicles: Vehicles) -> tuple[np.ndarray, Operator]:
        if self._operator is None:
            raise XtdroneError("an Agent flies this simulation: leave it out to give commands")
        mask = self._flight.mask_of(vehicles)
        if vehicles is None:
            mask &= ~self._flown
        own = np.flatnonzero(mask & self._flown) if mask.any() else np.flatnonzero(self._flown)
        if len(own):
            name = self._flight.scenario.vehicles[own[0]].name
            raise XtdroneError(
                f"'{name}' is flown by its backend: give commands to vehicles without one"
            )
        return mask, self._operator

    def _go(
        self,
        mask: np.ndarray,
        operator: Operator,
        target: np.ndarray,
        yaw: ArrayLike,
        time_out: float,
    ) -> Wait:
        heading = np.full(len(mask), np.nan)
        heading[mask] = yaw
        operator.fly(mask, pos=target, yaw=heading)
        return Wait(
            lambda: (
                np.linalg.norm(self._flight.autopilot.estimates().pos - target, axis=1)[mask]
                < _NEAR
            ),
            "there",
            time_out,
        )
