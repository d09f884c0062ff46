"""Depth images and point clouds of ROS topics as the readings of a Sight."""

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

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

_FLOAT32 = 7  # datatype of a PointField
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


def points_of(message: Message) -> np.ndarray:
    """Returns the points (M, 3) [m] of a sensor_msgs/PointCloud2 that were seen.

    Raises:
        PlanningError: It has no x, y and z as float32, or too few bytes.
    """
    offsets = {field.name: field.offset for field in message.fields if field.datatype == _FLOAT32}
    count, step = message.width * message.height, message.point_step
    if not {"x", "y", "z"} <= offsets.keys() or message.is_bigendian:
        raise PlanningError(
            "a cloud without x, y, z is not allowed: give float32 fields x, y, z, little-endian"
        )
    if len(message.data) < message.row_step * message.height or message.row_step < (
        message.width * step
    ):
        raise PlanningError("a cloud with fewer bytes than it says is not allowed")
    kind = np.dtype(
        {"names": ["x", "y", "z"], "formats": ["<f4"] * 3, "offsets": [offsets[k] for k in "xyz"],
         "itemsize": step}
    )  # fmt: skip
    rows = np.frombuffer(message.data, np.uint8)[: message.row_step * message.height]
    packed = rows.reshape(message.height, message.row_step)[:, : message.width * step]
    values = np.ascontiguousarray(packed).reshape(-1).view(kind)[:count]
    points = np.stack([values[k] for k in "xyz"], axis=1).astype(float)
    return np.asarray(points[np.isfinite(points).all(axis=1)])


class SensorTopic:
    """Sees by a sensor whose readings and frame come as messages.

    Attributes:
        sight: What fills the map; None as long as the sensor is not known.
        frames: Where sensors are on the vehicle.
    """

    KIND: ClassVar[str]  # of its readings

    def __init__(self, voxels: VoxelMap) -> None:
        """A sensor that is not known yet, and the map to fill."""
        self.sight: Sight | None = None
        self.frames = Frames()
        self._voxels, self._came = voxels, False
        self._waiting: deque[Reading] = deque()

    def missing(self) -> str:
        """Returns in words what it still needs in order to see."""
        raise NotImplementedError

    def parameters(self, place: np.ndarray, turn: Rotation) -> dict[str, Any] | None:
        """Returns the sensor's parameters as a description has them, or None if some are unknown.

        Args:
            place, turn: Of the frame of its messages in base_link.
        """
        raise NotImplementedError

    def pass_on(self, t_us: int) -> None:
        """Hands the readings up to a time [us] on, of which the pose is known by then."""
        while self._waiting and self._waiting[0].t_us <= t_us:
            reading = self._waiting.popleft()
            if self.sight is not None and t_us - reading.t_us < _KEPT_US:
                self.sight.on_reading(reading)

    def _take(self, message: Message, data: Callable[[], dict[str, np.ndarray]]) -> None:
        """Keeps a reading until the pose of its time is known."""
        self._came = True
        if self.sight is None and not self._know(message.header.frame_id):
            return
        self._waiting.append(Reading(self.KIND, "", self.KIND, time_us(message.header), data()))

    def _know(self, frame: str) -> bool:
        mounted = self.frames.on_body(frame)
        known = None if mounted is None else self.parameters(*mounted)
        if known is None:
            return False
        description = SensorDescription(
            kind=self.KIND, vehicle="", namespace="", sensor=self.KIND, period_us=0, latency_us=0,
            arrays=[], tags={}, parameters=[known],
        )  # fmt: skip
        self.sight = Sight("", [description], self._voxels)
        return True


class DepthTopic(SensorTopic):
    """Sees by a depth camera."""

    KIND = "depth"

    def __init__(self, voxels: VoxelMap, near: float, far: float, nan_is_far: bool = False) -> None:
        """A camera that is not known yet.

        Args:
            voxels: The map to fill.
            near, far: Depths [m] between which it sees; farther is free space up to `far`.
            nan_is_far: As of depth_of().
        """
        super().__init__(voxels)
        self._reach, self._nan_is_far = {"near": near, "far": far}, nan_is_far
        self._lens: dict[str, float] = {}

    def on_info(self, message: Message) -> None:
        """Takes a sensor_msgs/CameraInfo; the first one counts."""
        if not self._lens and message.K[0] > 0:
            self._lens = {"fx": message.K[0], "fy": message.K[4],
                          "cx": message.K[2], "cy": message.K[5]}  # fmt: skip

    def on_image(self, message: Message) -> None:
        """Takes a sensor_msgs/Image; it waits for the pose of its time."""
        self._take(message, lambda: {"depth": depth_of(message, self._nan_is_far)})

    def missing(self) -> str:
        """Returns in words what it still needs in order to see."""
        needs = {
            "depth image": self._came,
            "CameraInfo": bool(self._lens),
            "frame of the camera below base_link on /tf_static": False,
        }
        return next(what for what, there in needs.items() if not there)

    def parameters(self, place: np.ndarray, turn: Rotation) -> dict[str, Any] | None:
        """Returns lens and place; None without a CameraInfo."""
        axes = turn * Rotation.from_matrix(OPTICAL).inv()
        mounted = {"pos": place.tolist(), "quat": axes.as_quat().tolist()}
        return {**self._lens, **self._reach, **mounted} if self._lens else None


class CloudTopic(SensorTopic):
    """Sees by a lidar whose point clouds have what was hit, and nothing of what was not."""

    KIND = "cloud"

    def __init__(self, voxels: VoxelMap, near: float, far: float) -> None:
        """A lidar that is not known yet.

        Args:
            voxels: The map to fill.
            near, far: Ranges [m] of points that count; what is hit farther off is free up to `far`.
        """
        super().__init__(voxels)
        self._reach = {"minimum": near, "maximum": far}

    def on_cloud(self, message: Message) -> None:
        """Takes a sensor_msgs/PointCloud2; it waits for the pose of its time."""
        self._take(message, lambda: {"points": points_of(message)})

    def missing(self) -> str:
        """Returns in words what it still needs in order to see."""
        return "frame of the lidar below base_link on /tf_static" if self._came else "point cloud"

    def parameters(self, place: np.ndarray, turn: Rotation) -> dict[str, Any] | None:
        """Returns place and ranges."""
        return {**self._reach, "pos": place.tolist(), "quat": turn.as_quat().tolist()}
