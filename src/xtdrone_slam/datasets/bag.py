"""ROS 1 bags of a recording, written through the rosbags package, without ROS."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np

from xtdrone_core import extras

from ..errors import SlamError
from .calibration import Calibration
from .lenses import rectification

RosMessage: TypeAlias = Any  # rosbags makes the classes of messages at run time
_TYPES = {
    "image": "sensor_msgs/msg/Image",
    "info": "sensor_msgs/msg/CameraInfo",
    "imu": "sensor_msgs/msg/Imu",
    "pose": "geometry_msgs/msg/PoseStamped",
}
TRUTH, IMU = "/groundtruth/pose", "/imu0"
_BODY = "imu0"  # frame of the body
_CHECKPOINT_NS = 1_000_000_000  # time of the recording between two indices


class BagWriter:
    """Writes /cam0 and /cam1 (image_raw, camera_info), /imu0 and /groundtruth/pose.

    After each second of the recording an index is written, and the file header points to the last
    complete one. If the process is killed, the bag can be read up to the last second. Superseded
    indices remain in the file, where readers ignore them; each takes a few kB.
    """

    def __init__(self, path: Path, calibration: Calibration) -> None:
        """Creates a bag.

        Raises:
            SlamError: The file exists or cannot be written, or rosbags is not installed.
        """
        extras.require("rosbags", "a bag", "slam", SlamError)
        from rosbags.rosbag1 import Writer, WriterError
        from rosbags.typesys import Stores, get_typestore

        self._store = get_typestore(Stores.ROS1_NOETIC)
        self._path = Path(path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = Writer(self._path)
            self._writer.open()
        except (OSError, WriterError) as error:
            raise SlamError(f"cannot write '{path}': {error}") from error
        self._topics: dict[str, Any] = {}  # connections of rosbags by topic
        self._count = 0
        for number in range(2):
            self._add(f"/cam{number}/image_raw", "image")
            self._add(f"/cam{number}/camera_info", "info")
        self._add(IMU, "imu")
        self._add(TRUTH, "pose")
        self._noise = calibration.imu
        self._infos = [self._info(number, calibration) for number in range(2)]
        self._next_ns = -1  # time of the next index

    def images(self, t_us: int, left: np.ndarray, right: np.ndarray) -> None:
        """Adds a pair, (H, W) uint8 each, with its camera_info.

        Raises:
            SlamError: The file cannot be written, for example because the disk is full.
        """
        kind = self._store.types[_TYPES["image"]]
        for number, image in enumerate((left, right)):
            height, width = image.shape
            self._write(
                f"/cam{number}/image_raw",
                t_us,
                kind(
                    self._header(t_us, f"cam{number}"),
                    height,
                    width,
                    "mono8",
                    0,
                    width,
                    np.ascontiguousarray(image).reshape(-1),
                ),
            )
            info = self._infos[number]
            info.header = self._header(t_us, f"cam{number}")
            self._write(f"/cam{number}/camera_info", t_us, info)

    def imu(self, t_us: int, gyro: Iterable[float], accel: Iterable[float]) -> None:
        """Adds a reading: (3,) [rad/s] and (3,) [m/s^2], body.

        Raises:
            SlamError: The file cannot be written, for example because the disk is full.
        """
        types, noise = self._store.types, self._noise
        vector = types["geometry_msgs/msg/Vector3"]

        def covariance(density: float) -> np.ndarray:
            return (np.eye(3) * density**2 * noise.rate).ravel()

        unknown = np.zeros(9)
        unknown[0] = -1.0  # sensor_msgs/Imu: no orientation
        self._write(
            IMU,
            t_us,
            types[_TYPES["imu"]](
                self._header(t_us, _BODY),
                self._quaternion((0.0, 0.0, 0.0, 1.0)),
                unknown,
                vector(*map(float, gyro)),
                covariance(noise.gyroscope_noise_density),
                vector(*map(float, accel)),
                covariance(noise.accelerometer_noise_density),
            ),
        )

    def truth(
        self,
        t_us: int,
        pos: Iterable[float],
        quat: Iterable[float],
        vel: Iterable[float] | None = None,
    ) -> None:
        """Adds the true pose of the body in the world [m], quaternion xyzw; vel is not written.

        Raises:
            SlamError: The file cannot be written, for example because the disk is full.
        """
        types = self._store.types
        pose = types["geometry_msgs/msg/Pose"](
            types["geometry_msgs/msg/Point"](*map(float, pos)), self._quaternion(quat)
        )
        self._write(TRUTH, t_us, types[_TYPES["pose"]](self._header(t_us, "world"), pose))

    def close(self) -> None:
        """Completes the bag. May be called twice."""
        if self._writer.bio is not None:
            try:
                self._writer.close()
            except OSError as error:
                self._writer.abort()
                raise SlamError(f"cannot write '{self._path}': {error.strerror}") from error

    def _add(self, topic: str, kind: str) -> None:
        self._topics[topic] = self._writer.add_connection(
            topic, _TYPES[kind], typestore=self._store
        )

    def _write(self, topic: str, t_us: int, message: RosMessage) -> None:
        connection, stamp = self._topics[topic], t_us * 1000
        try:
            self._writer.write(
                connection, stamp, self._store.serialize_ros1(message, connection.msgtype)
            )
            if stamp >= self._next_ns:
                self._next_ns = stamp + _CHECKPOINT_NS
                self._checkpoint()
        except OSError as error:
            self._writer.abort()
            raise SlamError(
                f"cannot write '{self._path}': {error.strerror}; the earlier "
                "messages are in the bag"
            ) from error

    def _checkpoint(self) -> None:
        """Writes the index that close() would write, and continues after it."""
        writer = self._writer
        if writer.chunks[-1].data.tell():
            writer.write_chunk(writer.chunks[-1])
        file = writer.bio
        assert file is not None
        writer.bio = cast(BinaryIO, _KeepOpen(file))
        try:
            writer.close()
        finally:
            writer.bio = file
        file.flush()
        file.seek(0, os.SEEK_END)

    def _header(self, t_us: int, frame: str) -> RosMessage:
        types = self._store.types
        self._count += 1
        stamp = types["builtin_interfaces/msg/Time"](t_us // 1_000_000, t_us % 1_000_000 * 1000)
        return types["std_msgs/msg/Header"](self._count, stamp, frame)

    def _quaternion(self, quat: Iterable[float]) -> RosMessage:
        return self._store.types["geometry_msgs/msg/Quaternion"](*map(float, quat))

    def _info(self, number: int, calibration: Calibration) -> RosMessage:
        """Makes a CameraInfo, with the rectification of the pair."""
        camera = (calibration.left, calibration.right)[number]
        rectified = rectification(calibration)
        types = self._store.types
        return types[_TYPES["info"]](
            self._header(0, f"cam{number}"),
            camera.height,
            camera.width,
            camera.ros_distortion_model,
            np.array(camera.ros_distortion),
            camera.matrix.ravel(),
            rectified[number].ravel(),
            rectified[2 + number].ravel(),
            0,
            0,
            types["sensor_msgs/msg/RegionOfInterest"](0, 0, 0, 0, False),
        )


class _KeepOpen:
    """A file whose close() does nothing."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:  # any attribute of the file
        return getattr(self._file, name)

    def close(self) -> None:
        """Does nothing."""
