"""Images of the vehicles' cameras as JPEG, from the rings that the simulation fills."""

import asyncio
import io
from collections.abc import Mapping

import numpy as np

from xtdrone_core import XtdroneError
from xtdrone_core.runs.frame_ring import FrameReader

from .world_control import WorldControl

_KINDS = ("camera", "stereo", "depth")
_WANTED_S = 2.0  # time for which cameras are rendered after a request [s, simulated]
_MAX_WIDTH = 640  # images are thinned out to this [pixels]


class Cameras:
    """The cameras of a fleet. Nothing is rendered unless somebody asks for images."""

    def __init__(self, world: WorldControl):
        """Takes what asks the simulation."""
        self._world = world
        self._readers: dict[int, FrameReader] = {}
        self._images: dict[int, bytes] = {}
        self._lock = asyncio.Lock()

    async def image(self, number: int) -> bytes | None:
        """Returns the newest image of a camera, or None."""
        async with self._lock:
            return await asyncio.get_running_loop().run_in_executor(None, self._newest, number)

    def _newest(self, number: int) -> bytes | None:
        try:
            sensors = self._world.ask("sensors", for_s=_WANTED_S)["sensors"]
            if number >= len(sensors):
                return None
            sensor = sensors[number]
            if number not in self._readers:
                self._readers[number] = FrameReader(sensor["ring"], sensor["arrays"])
        except XtdroneError:
            return None
        frames = self._readers[number].read()
        if frames and sensor["kind"] in _KINDS:
            self._images[number] = encoded(_picture(frames[-1][1]))
        return self._images.get(number)


def _picture(data: Mapping[str, np.ndarray]) -> np.ndarray:
    """Returns one image (h, w) or (h, w, 3) uint8 of a reading; a stereo camera's side by side."""
    return np.concatenate([each for each in data.values() if each.dtype == np.uint8], axis=1)


def encoded(image: np.ndarray) -> bytes:
    """Returns an image as JPEG."""
    from PIL import Image

    step = -(-image.shape[1] // _MAX_WIDTH)
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image[::step, ::step])).save(file, "JPEG", quality=80)
    return file.getvalue()
