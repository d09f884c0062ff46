"""Images and cameras of ROS 1 and ROS 2, of which a slow node sees the newest alone."""

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sensor_models.cameras import EQUIDISTANT, PLUMB_BOB, CameraParameters
from xtdrone_core import XtdroneError
from xtdrone_core.errors import shown
from xtdrone_mavros.inputs.fields import field, time_parts, time_us

from ..errors import PerceptionError

Fields = Mapping[str, Any]  # of a message by name, nested ones too
Message = Any  # one of ROS 1 or ROS 2: no class says it
_MAX_RATE = 1000.0  # [Hz]
# Channels of encodings of 8 bits, and those of red, green and blue or of grey.
_ENCODINGS: dict[str, tuple[int, Sequence[int]]] = {
    "mono8": (1, (0,)),
    "8UC1": (1, (0,)),
    "rgb8": (3, (0, 1, 2)),
    "bgr8": (3, (2, 1, 0)),
    "rgba8": (4, (0, 1, 2)),
    "bgra8": (4, (2, 1, 0)),
}


class Newest:
    """Gives images to a function in a thread of its own; of those that wait, the newest alone.

    Attributes:
        used, left_out: Numbers of images that the function got and did not get.
        error: What the function raised, after which it gets no more.
    """

    def __init__(self, use: Callable[[Message], None], rate: float = 0.0) -> None:
        """Begins.

        Args:
            use: Called with one message after another.
            rate: Most images in a second of their stamps; 0: all.

        Raises:
            PerceptionError: The rate makes no sense.
        """
        if not 0.0 <= rate <= _MAX_RATE:
            raise PerceptionError(f"a rate of {rate:g} Hz: give 0 (all images) to {_MAX_RATE:g}")
        self._use = use
        self._period_us = 1e6 / rate if rate > 0.0 else 0.0
        self._last_us = -1
        self._waiting: Message | None = None
        self._ended = False
        self._changed = threading.Condition()
        self.used = self.left_out = 0
        self.error: XtdroneError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="images")
        self._thread.start()

    def put(self, message: Message) -> None:
        """Takes an image; an older one that still waits is left out."""
        t_us = time_us(message.header)
        with self._changed:
            if 0 <= t_us - self._last_us < self._period_us and self._last_us >= 0:
                self.left_out += 1
                return
            self._last_us = t_us
            self.left_out += self._waiting is not None
            self._waiting = message
            self._changed.notify()

    def close(self) -> None:
        """Ends, after the image that is in use."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._waiting is not None)
                if self._ended:
                    return
                message, self._waiting = self._waiting, None
                self.used += 1
            try:
                self._use(message)
            except XtdroneError as error:
                self.error = error
                return


def beside(topic: str, name: str) -> str:
    """The topic of this name in the namespace of another."""
    return f"{topic.rpartition('/')[0]}/{name}"


def header(message: Message) -> Fields:
    """The fields of a message's header, as ROS 1 names them: its time and frame."""
    secs, nsecs = time_parts(message.header.stamp)
    return {"stamp": {"secs": secs, "nsecs": nsecs}, "frame_id": message.header.frame_id}


def pixels(message: Message) -> np.ndarray:
    """Returns an image (H, W, 3) RGB or (H, W) grey, uint8, without the padding of its rows.

    Raises:
        PerceptionError: Its encoding is not of 8 bits, or it has too few bytes.
    """
    if message.encoding not in _ENCODINGS:
        raise PerceptionError(
            f"an image of encoding '{shown(message.encoding)}': give one of {', '.join(_ENCODINGS)}"
        )
    channels, wanted = _ENCODINGS[message.encoding]
    height, width, step = message.height, message.width, message.step
    if not 0 < width * channels <= step or not 0 < height * step <= len(message.data):
        raise PerceptionError(
            f"an image {message.encoding} of {width}x{height} with rows of {step} bytes in "
            f"{len(message.data)} bytes makes no sense"
        )
    rows = np.frombuffer(message.data, np.uint8, height * step).reshape(height, step)
    image = rows[:, : width * channels].reshape(height, width, channels)[..., list(wanted)]
    return np.ascontiguousarray(image if len(wanted) > 1 else image[..., 0])


def camera_of(info: Message) -> CameraParameters:
    """Returns the camera that a sensor_msgs/CameraInfo describes.

    Raises:
        PerceptionError: Its distortion is of another model, or it is not calibrated.
        SensorError: A value is not allowed.
    """
    fx, skew, cx, _, fy, cy = map(float, field(info, "k")[:6])
    given: list[Any] = list(map(float, field(info, "d")))  # for replace()
    model = info.distortion_model or PLUMB_BOB
    names = {PLUMB_BOB: ("k1", "k2", "p1", "p2", "k3"), EQUIDISTANT: ("k1", "k2", "k3", "k4")}
    if model == "rational_polynomial" and not any(given[5:]):
        model = PLUMB_BOB
    if model not in names or any(given[len(names[model]) :]):
        raise PerceptionError(
            f"a camera_info with distortion_model '{shown(model)}' and {len(given)} coefficients: "
            f"give {PLUMB_BOB} with 5 or {EQUIDISTANT} with 4, or rectify the image"
        )
    if not fx > 0.0:
        raise PerceptionError("camera_info has no focal length: calibrate the camera")
    return dataclasses.replace(
        CameraParameters.pinhole(info.width, info.height, 1.0),
        fx=fx,
        fy=fy,
        cx=cx,
        cy=cy,
        skew=skew,
        distortion_center=(cx, cy),
        distortion_model=model,
        **dict(zip(names[model], given)),
    )
