"""Publishes readings of rendered sensors to other processes, through rings in shared memory."""

import math
import os
import re

from xtdrone_core import Reading
from xtdrone_core.contracts import Observer
from xtdrone_core.runs import frame_ring

from .sensors import RenderedSensors


class FramePublisher(Observer):
    """One ring per sensor; other processes find them by the control socket's request `sensors`.

    Nothing is rendered before the first such request, nor after the time that all of them have
    asked for: unused cameras cost nothing.
    """

    _until_us = -1.0  # how long they are wanted [us]

    def __init__(self, sensors: RenderedSensors, instance: int = 0):
        """Creates the rings, and removes those of simulations that have crashed.

        Args:
            sensors: The sensors to publish.
            instance: Instance of the simulation: a process may hold several.

        Raises:
            ControlError: There is no space in shared memory.
        """
        frame_ring.sweep()
        self._rings, self._descriptions = {}, []
        try:
            for number, description in enumerate(sensors.describe()):
                vehicle, sensor = description["vehicle"], description["sensor"]
                plain = re.sub(r"\W+", "_", f"{vehicle}_{sensor}")
                path = frame_ring.path_of(os.getpid(), instance, f"{number}_{plain}")
                ring = frame_ring.FrameWriter(path, description["arrays"])
                self._rings[vehicle, sensor] = ring
                self._descriptions.append({**description, "ring": str(ring.path)})
        except BaseException:
            self.close()
            raise

    def publish(self, until_us: float = math.inf) -> list[dict]:
        """Publishes up to a simulated time; returns describe() with the path of each ring."""
        self.wants_readings = True
        self._until_us = max(self._until_us, until_us)
        return self._descriptions

    def on_reading(self, reading: Reading) -> None:
        """Writes a reading to its sensor's ring."""
        self.wants_readings = reading.t_us <= self._until_us
        if self.wants_readings:
            self._rings[reading.vehicle, reading.sensor].write(reading.t_us, reading.data)

    def close(self) -> None:
        """Removes the rings. May be called twice."""
        for ring in self._rings.values():
            ring.close()
