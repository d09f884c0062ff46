"""Hands the readings of rendered sensors to other processes, through rings in shared memory."""

import os
import re

from xtdrone_core import frame_ring

from .sensors import Reading, RenderedSensors


class Delivery:
    """One ring per sensor; other processes learn of them by the control socket's `sensors`."""

    def __init__(self, sensors: RenderedSensors):
        """Makes the rings, and removes those that dead simulations left behind.

        Raises:
            ControlError: There is no room for them.
        """
        frame_ring.sweep()
        self._rings, self._descriptions = {}, []
        try:
            for number, description in enumerate(sensors.describe()):
                vehicle, sensor = description["vehicle"], description["sensor"]
                plain = re.sub(r"\W+", "_", f"{vehicle}_{sensor}")
                path = frame_ring.path_of(os.getpid(), f"{number}_{plain}")
                self._rings[vehicle, sensor] = frame_ring.FrameWriter(path, description["arrays"])
                self._descriptions.append({**description, "ring": str(path)})
        except BaseException:
            self.close()
            raise

    def describe(self) -> list[dict]:
        """What RenderedSensors.describe says, with the path of each ring."""
        return self._descriptions

    def write(self, reading: Reading) -> None:
        """Puts a reading into its sensor's ring."""
        self._rings[reading.vehicle, reading.sensor].write(reading.t_us, reading.data)

    def close(self) -> None:
        """Removes the rings. May be called twice."""
        for ring in self._rings.values():
            ring.close()
