"""Functions that a simulation calls at its steps, with readings of sensors, and at contacts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sensor_models.rendered_sensor import rendered_sensors
from sensor_models.sensor import sensors as kinds_of_sensors
from xtdrone_core import FleetModel
from xtdrone_core.contracts import Observer
from xtdrone_core.errors import XtdroneError, shown, unknown_name
from xtdrone_core.state import FleetState, Reading, SensorBatch
from xtdrone_sim.simulation import STEP_US, Simulation as Lockstep

OnStep = Callable[[float, FleetState, SensorBatch], object]
OnSensor = Callable[[float, str, Any], object]  # time, vehicle, reading of its kind
OnContact = Callable[[float, str, str], object]


class Callback(Observer):
    """A function that is called until remove(); it can still be called by hand."""

    def __init__(
        self, flight: Lockstep, function: Callable[..., object], period: float = 0.0
    ) -> None:
        """Calls it every `period` seconds of simulated time, 0 for each step.

        Raises:
            XtdroneError: No function, or a period that is no multiple of 4 ms.
        """
        self.period_us = round(period * 1e6)
        if not callable(function):
            raise XtdroneError(f"callback {shown(function)} is not allowed: give a function")
        if self.period_us < 0 or self.period_us % STEP_US:
            raise XtdroneError(
                f"period {period} of a callback is not allowed: give a multiple of "
                f"{STEP_US * 1e-6:g} s, or 0 for each step"
            )
        self._flight, self._function = flight, function
        flight.observers.append(self)

    def __call__(self, *values: object) -> object:
        return self._function(*values)

    def remove(self) -> None:
        """Ends the calls. May be called twice, and within a call."""
        # A new list: the simulation may be going through the old one.
        self._flight.observers = [other for other in self._flight.observers if other is not self]


class StepCallback(Callback):
    """function(t [s], FleetState, SensorBatch) after a step."""

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Calls it."""
        self._function(t_us * 1e-6, state, sensors)


class ReadingCallback(Callback):
    """function(t [s], name of the vehicle, record) with each new reading of a kind of sensor."""

    def __init__(self, flight: Lockstep, function: OnSensor, kind: str) -> None:
        """Takes a kind of sensor: imu, gps and so on."""
        super().__init__(flight, function)
        self._kind, self._flag = kind, kinds_of_sensors()[kind].flag
        self._fleet: FleetModel | None = None  # fleet to which the following belong
        self._names: list[str] = []
        self._fitted = np.zeros(0, dtype=np.bool_)

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Calls it for each vehicle with a new reading."""
        if self._fleet is not self._flight.fleet:  # at first, and after a change
            self._look()
        extra = sensors.extra.get(self._kind)
        records = sensors.records if extra is None else extra.records
        new = self._fitted & records[self._flag] if self._flag else self._fitted
        for i in np.flatnonzero(new):
            self._function(t_us * 1e-6, self._names[i], records[i])

    def _look(self) -> None:
        self._fleet = self._flight.fleet
        self._names = [spec.name for spec in self._flight.scenario.vehicles]
        self._fitted = np.array(
            [
                any(block.kind == self._kind for block in vehicle.sensors)
                for vehicle in self._fleet.vehicles
            ]
        )


class ImageCallback(Callback):
    """function(t [s], name of the vehicle, data) with each image or scan of a kind of sensor."""

    wants_readings = True

    def __init__(self, flight: Lockstep, function: OnSensor, kind: str) -> None:
        """Takes a kind of sensor: camera, stereo, depth or lidar."""
        super().__init__(flight, function)
        self._kind = kind

    def on_reading(self, reading: Reading) -> None:
        """Calls it."""
        if reading.kind == self._kind:
            self._function(reading.t_us * 1e-6, reading.vehicle, reading.data)


class ContactCallback(Callback):
    """function(t [s], name, name) when two begin to touch."""

    def __init__(self, flight: Lockstep, function: OnContact) -> None:
        """Calls it at contacts of vehicles and models, the ground included."""
        super().__init__(flight, function)
        self._touching = set(flight.engine.contacts().by_name())

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Calls it for each new pair."""
        now = set(self._flight.engine.contacts().by_name())
        for one, other in sorted(now - self._touching):
            self._function(t_us * 1e-6, one, other)
        self._touching = now


class Callbacks:
    """Ways to be called by a simulation; each may also stand as a decorator before a function.

    Examples:
        >>> import xtdrone as xd
        >>> with xd.Simulation(xd.Scenario(vehicles="iris")) as sim:
        ...     fixes = []
        ...     @sim.on_sensor("gps")
        ...     def fix(t, vehicle, reading):
        ...         fixes.append(reading["gps_alt"])
        ...     sim.run(1.0)
        >>> len(fixes) > 0
        True
    """

    _flight: Lockstep

    def on_step(
        self, function: OnStep | None = None, *, period: float = 0.0
    ) -> Any:  # a Callback or a decorator, which depends on the function
        """Calls function(t [s], state, sensors) after each step, or every `period` seconds.

        The arrays are overwritten by the next step.

        Returns:
            A Callback, whose remove() ends it; without a function, the decorator.

        Raises:
            XtdroneError: The period is no multiple of 4 ms.
        """
        if function is None:
            return lambda given: StepCallback(self._flight, given, period)
        return StepCallback(self._flight, function, period)

    def on_sensor(
        self, kind: str, function: OnSensor | None = None
    ) -> Any:  # a Callback or a decorator, which depends on the function
        """Calls function(t [s], vehicle, reading) with each new reading of a kind of sensor.

        Args:
            kind: imu, magnetometer, barometer, gps, airspeed, range, whose reading is a record of
                xtdrone_core.state.SENSORS; or camera, stereo, depth, lidar, whose reading is a
                mapping of arrays.
            function: Or none, for a decorator.

        Raises:
            XtdroneError: No such kind.
        """
        images = [kind for each in rendered_sensors().values() for kind in each.reading_kinds]
        known = [*images, *kinds_of_sensors()]
        if kind not in known:
            raise XtdroneError(unknown_name("kind of sensor", kind, known))
        made = ImageCallback if kind in images else ReadingCallback
        if function is None:
            return lambda given: made(self._flight, given, kind)
        return made(self._flight, function, kind)

    def on_contact(
        self, function: OnContact | None = None
    ) -> Any:  # a Callback or a decorator, which depends on the function
        """Calls function(t [s], name, name) when two vehicles or models begin to touch."""
        if function is None:
            return lambda given: ContactCallback(self._flight, given)
        return ContactCallback(self._flight, function)
