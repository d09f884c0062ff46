"""Gives an Agent the images of its vehicle's camera, no more than it wants."""

from typing import Protocol

import numpy as np

from xtdrone_core import Reading
from xtdrone_core.contracts import Flight, Observer

from .sight import MountedCamera


class Looker(Protocol):
    """Who looks at images."""

    def wants_image(self, t_us: int) -> bool:
        """Whether an image of this time is looked at."""

    def look(self, t_us: int, image: np.ndarray) -> None:
        """Takes an image (H, W, 3) uint8 of a time."""


class ImageWatcher(Observer):
    """Passes images on; the camera works at no other time."""

    def __init__(self, looker: Looker, flight: Flight, camera: MountedCamera) -> None:
        """Watches a camera for one who looks."""
        self._looker, self._flight, self._camera = looker, flight, camera
        self._latency_us = round(1e6 * camera.camera.latency)

    @property
    def wants_readings(self) -> bool:  # type: ignore[override]
        """Whether an image is wanted now, or one that was wanted arrives."""
        t_us = self._flight.t_us
        return any(self._looker.wants_image(t_us - late) for late in {0, self._latency_us})

    def on_reading(self, reading: Reading) -> None:
        """Passes an image on."""
        if reading.sensor == self._camera.sensor:
            self._looker.look(reading.t_us, next(iter(reading.data.values())))


class Clock(Observer):
    """Lets one who needs no images look at the same times."""

    def __init__(self, looker: Looker) -> None:
        """Is for one who looks."""
        self._looker = looker

    def on_step(self, t_us: int, state: object, sensors: object) -> None:
        """Calls look() with an empty image."""
        if self._looker.wants_image(t_us):
            self._looker.look(t_us, np.zeros((0, 0, 3), np.uint8))
