"""Hands the readings of rendered sensors to other processes, through rings in shared memory."""

import os
import re

from xtdrone_core import Reading, frame_ring
from xtdrone_core.contracts import Observer

from .sensors import RenderedSensors


class FramePublisher(Observer):
    """One ring per sensor; other processes learn of them by the control socket's `sensors`.

    Nothing is drawn before the first of them asks: a flight that nobody films costs nothing more.
    """

    def __init__(self, sensors: RenderedSensors, instance: int = 0):
        """Makes the rings, and removes those that dead simulations left behind.

        Args:
            sensors: Whose readings are handed on.
            instance: Of the simulation: a process may hold several.

        Raises:
            ControlError: There is no room for them.
        """
        frame_ring.sweep()
        self._rings, self._descriptions = {}, []
        try:
            for number, description in enumerate(sensors.describe()):
                vehicle, sensor = description["vehicle"], description["sensor"]
                plain = re.sub(r"\W+", "_", f"{vehicle}_{sensor}")
                path = frame_ring.path_of(os.getpid(), instance, f"{number}_{plain}")
                self._rings[vehicle, sensor] = frame_ring.FrameWriter(path, description["arrays"])
                self._descriptions.append({**description, "ring": str(path)})
        except BaseException:
            self.close()
            raise

    def publish(self) -> list[dict]:
        """Publishes from now on; gives what RenderedSensors.describe says, and each ring's path."""
        self.wants_readings = True
        return self._descriptions

    def on_reading(self, reading: Reading) -> None:
        """Puts a reading into its sensor's ring."""
        if self.wants_readings:
            self._rings[reading.vehicle, reading.sensor].write(reading.t_us, reading.data)

    def close(self) -> None:
        """Removes the rings. May be called twice."""
        for ring in self._rings.values():
            ring.close()
