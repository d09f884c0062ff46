"""What a team's Agent sees of its flight: all but the truth."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from xtdrone_core import Estimates, FleetState, SensorBatch
from xtdrone_core.contracts import Flight, LandingTargetTaker, Observer

from .errors import RefusedError


class BlindFlight:
    """A Flight without the true state.

    Observers that an Agent adds get its times and readings, and NaN in place of the state.
    """

    folder = None

    def __init__(self, flight: Flight) -> None:
        """Hides the truth of a flight."""
        self._flight = flight
        self._observers = BlindObservers(flight)
        self.scenario, self.fleet, self.log_gaps = flight.scenario, flight.fleet, flight.log_gaps

    @property
    def state(self) -> FleetState:
        """Nobody may see it.

        Raises:
            RefusedError: Always.
        """
        raise RefusedError("the rules forbid the true state: fly by estimates and readings")

    @property
    def t_us(self) -> int:
        """Simulated time [us]."""
        return self._flight.t_us

    @property
    def sensors(self) -> SensorBatch:
        """The last readings."""
        return self._flight.sensors

    @property
    def observers(self) -> "BlindObservers":
        """Takes observers of the team."""
        return self._observers

    @observers.setter
    def observers(self, given: Any) -> None:  # what += has returned
        if given is not self._observers:
            raise RefusedError("observers of a flight are added, not replaced")

    @property
    def autopilot(self) -> "BlindAutopilot":
        """The flight stack, as a companion computer talks to it."""
        return BlindAutopilot(self._flight)

    def rendered_sensors(self) -> Any:
        """Returns the cameras and lidars, as Flight does."""
        return self._flight.rendered_sensors()


class BlindAutopilot:
    """What a companion computer may ask of the flight stack, or tell it."""

    def __init__(self, flight: Flight) -> None:
        """That of a flight."""
        self._flight = flight

    def estimates(self) -> Estimates:
        """Returns the estimates, as Autopilot does."""
        return self._flight.autopilot.estimates()

    def health(self) -> list[dict[str, Any]]:
        """Returns the health, as Autopilot does."""
        return self._flight.autopilot.health()

    def take_landing_target(self, i: int, t_us: int, pos: np.ndarray) -> None:
        """Takes where the landing target of vehicle i was seen, as LandingTargetTaker does."""
        autopilot = self._flight.autopilot
        assert isinstance(autopilot, LandingTargetTaker)
        autopilot.take_landing_target(i, t_us, pos)


class BlindObservers:
    """A list of observers to which a team may add its own."""

    def __init__(self, flight: Flight) -> None:
        """The observers of a flight."""
        self._flight = flight

    def append(self, observer: Observer) -> None:
        """Adds one."""
        self._flight.observers.append(Blinded(observer, self._flight.scenario.n))

    def extend(self, observers: Iterable[Observer]) -> None:
        """Adds some."""
        for observer in observers:
            self.append(observer)

    def __iadd__(self, observers: Iterable[Observer]) -> "BlindObservers":
        self.extend(observers)
        return self


class Blinded(Observer):
    """Passes all on to an observer of a team, but for the state."""

    def __init__(self, observer: Observer, n: int) -> None:
        """Wraps the observer of n vehicles."""
        self._observer = observer
        self._hidden = FleetState.zeros(n, 1)
        for name in ("pos", "quat", "vel", "ang_vel", "acc"):
            getattr(self._hidden, name).fill(np.nan)

    @property
    def period_us(self) -> int:  # type: ignore[override]  # the observer's
        """As the observer has it."""
        return self._observer.period_us

    @property
    def wants_readings(self) -> bool:  # type: ignore[override]  # the observer's, now
        """As the observer has it."""
        return self._observer.wants_readings

    def on_start(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Passes the readings on."""
        self._observer.on_start(t_us, self._hidden, sensors)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Passes the readings on."""
        self._hidden.t_us = t_us
        self._observer.on_step(t_us, self._hidden, sensors)

    def on_reading(self, reading: Any) -> None:
        """Passes an image or scan on."""
        self._observer.on_reading(reading)

    def close(self) -> None:
        """The simulation has ended."""
        self._observer.close()
