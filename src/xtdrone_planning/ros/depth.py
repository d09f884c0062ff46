"""Depth images of ROS topics as the readings of a Sight."""

from collections import deque
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_core import Reading
from xtdrone_core.state import SensorDescription
from xtdrone_mavros.inputs.fields import time_us
from xtdrone_ros1.frames import Frames
from xtdrone_ros1.messages import Message

from ..errors import PlanningError
from ..maps.voxel_map import VoxelMap
from ..sight import OPTICAL, Sight

_SENSOR = "depth"
_KEPT_US = 800_000  # an image that waits longer for its pose is dropped [us]
_ENCODINGS = {"32FC1": (np.float32, 1.0), "16UC1": (np.uint16, 1e-3)}  # and their unit [m]


def depth_of(message: Message, nan_is_far: bool = False) -> np.ndarray:
    """Returns a depth image (H, W) float32 [m]: inf without a return, NaN where nothing is known.

    Args:
        message: A sensor_msgs/Image; 0 in one of millimetres is not known.
        nan_is_far: Whether NaN means that nothing is within reach.

    Raises:
        PlanningError: Its encoding is another one.
    """
    if message.encoding not in _ENCODINGS or message.is_bigendian:
        raise PlanningError(
            f"a depth image of encoding '{message.encoding}' is not allowed: give "
            f"{' or '.join(_ENCODINGS)}, little-endian"
        )
    kind, unit = _ENCODINGS[message.encoding]
    rows = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)
    width = message.width * np.dtype(kind).itemsize
    values = np.ascontiguousarray(rows[:, :width]).view(kind)
    depth = values.astype(np.float32)
    if kind is np.uint16:
        depth *= np.float32(unit)
        depth[values == 0] = np.nan
    if nan_is_far:
        depth[np.isnan(depth)] = np.inf
    return depth


class DepthTopic:
    """Sees by a depth camera whose images, CameraInfo and frame come as messages.

    Attributes:
        sight: What fills the map; None as long as the camera's lens or place is unknown.
    """

    def __init__(self, voxels: VoxelMap, near: float, far: float, nan_is_far: bool = False) -> None:
        """A camera that is not known yet.

        Args:
            voxels: The map to fill.
            near, far: Depths [m] between which it sees; farther is free space up to `far`.
            nan_is_far: As of depth_of().
        """
        self.sight: Sight | None = None
        self.frames = Frames()
        self._voxels, self._reach = voxels, {"near": near, "far": far}
        self._nan_is_far, self._came = nan_is_far, False
        self._lens: dict[str, float] = {}
        self._waiting: deque[Reading] = deque()

    def on_info(self, message: Message) -> None:
        """Takes a sensor_msgs/CameraInfo; the first one counts."""
        if not self._lens and message.K[0] > 0:
            self._lens = {"fx": message.K[0], "fy": message.K[4],
                          "cx": message.K[2], "cy": message.K[5]}  # fmt: skip

    def on_image(self, message: Message) -> None:
        """Takes a sensor_msgs/Image; it waits for the pose of its time."""
        self._came = True
        if self.sight is None and not self._know(message.header.frame_id):
            return
        data = {"depth": depth_of(message, self._nan_is_far)}
        self._waiting.append(Reading("depth", "", _SENSOR, time_us(message.header), data))

    def missing(self) -> str:
        """Returns in words what it still needs in order to see."""
        needs = {
            "depth image": self._came,
            "CameraInfo": bool(self._lens),
            "frame of the camera below base_link on /tf_static": False,
        }
        return next(what for what, there in needs.items() if not there)

    def pass_on(self, t_us: int) -> None:
        """Hands the images up to a time [us] on, of which the pose is known by then."""
        while self._waiting and self._waiting[0].t_us <= t_us:
            reading = self._waiting.popleft()
            if self.sight is not None and t_us - reading.t_us < _KEPT_US:
                self.sight.on_reading(reading)

    def _know(self, frame: str) -> bool:
        mounted = self.frames.on_body(frame)
        if mounted is None or not self._lens:
            return False
        place, turn = mounted
        camera: dict[str, Any] = {  # parameters as a description has them
            **self._lens,
            **self._reach,
            "pos": place.tolist(),
            "quat": (turn * Rotation.from_matrix(OPTICAL).inv()).as_quat().tolist(),
        }
        description = SensorDescription(
            kind="depth", vehicle="", namespace="", sensor=_SENSOR, period_us=0, latency_us=0,
            arrays=[], tags={}, parameters=[camera],
        )  # fmt: skip
        self.sight = Sight("", [description], self._voxels)
        return True
