"""Import of a bag recorded elsewhere, with a calibration by Kalibr, as a dataset."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xtdrone_core.errors import XtdroneError, shown

from ..errors import SlamError
from . import calibration as calibrations, trajectory_file
from .bag import RosMessage
from .dataset import DatasetWriter

if TYPE_CHECKING:  # an optional extra
    from rosbags.highlevel import AnyReader
    from rosbags.interfaces import Connection

# Message type: attribute paths of position and quaternion.
_POSES = {
    "geometry_msgs/msg/PoseStamped": ("pose.position", "pose.orientation"),
    "geometry_msgs/msg/PoseWithCovarianceStamped": ("pose.pose.position", "pose.pose.orientation"),
    "geometry_msgs/msg/TransformStamped": ("transform.translation", "transform.rotation"),
    "nav_msgs/msg/Odometry": ("pose.pose.position", "pose.pose.orientation"),
}
_FRD = "_frd"  # end of the name of a frame whose axes are forward, right, down
_GREY = {"mono8": 1, "8UC1": 1, "bgr8": 3, "rgb8": 3}  # encodings and their channels


def import_bag(
    bag: Path,
    chain: Path,
    imu: Path,
    truth: str,
    target: Path,
    progress: Callable[[int, int], object] | None = None,
) -> int:
    """Writes a dataset from a bag of ROS 1 or ROS 2.

    Args:
        bag: File, or the folder of a ROS 2 bag.
        chain, imu: Kalibr's camchain-imucam.yaml and imu.yaml, which also name the topics.
        truth: Topic of the true pose of the IMU (PoseStamped, PoseWithCovarianceStamped,
            TransformStamped or Odometry), or a TUM file. Where the frame of the IMU's readings
            ends in _frd, they are turned to forward, left, up, which is then the true pose's.
        target: Folder to create.
        progress: Called as progress(messages so far, all messages).

    Returns:
        Number of stereo pairs.

    Raises:
        SlamError: A file or topic is missing or has an unsupported type.
    """
    calibration, topics = calibrations.read_kalibr(chain, imu)
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ModuleNotFoundError as error:
        raise SlamError(
            "bags need the Python package 'rosbags': pip install 'xtdrone[slam]'"
        ) from error
    from_file = Path(truth).is_file()
    poses = trajectory_file.read(Path(truth)).tolist() if from_file else []
    topics = topics if from_file else [*topics, truth]
    try:
        with AnyReader([Path(bag)], default_typestore=get_typestore(Stores.ROS1_NOETIC)) as reader:
            missing = [topic for topic in topics if topic not in reader.topics]
            if missing:
                raise SlamError(
                    f"'{bag}' has no topic {', '.join(missing)}; it has "
                    f"{', '.join(sorted(reader.topics))}"
                )
            kind = None if from_file else reader.topics[truth].msgtype
            if kind not in (None, *_POSES):
                raise SlamError(
                    f"the topic {truth} has the type {kind}: the truth must be one of "
                    f"{', '.join(_POSES)}, or a TUM file"
                )
            # Kalibr's files do not state the rate of the cameras.
            rate = round(reader.topics[topics[0]].msgcount / (1e-9 * reader.duration), 2)
            calibration = replace(
                calibration,
                left=replace(calibration.left, rate=rate),
                right=replace(calibration.right, rate=rate),
            )
            is_frd = _is_frd(reader, topics[2])
            writer = DatasetWriter(target, calibration.flipped() if is_frd else calibration)
            converter = _Converter(writer, topics, poses, is_frd)
            connections = [each for each in reader.connections if each.topic in topics]
            total = sum(each.msgcount for each in connections)
            for count, (connection, _, raw) in enumerate(reader.messages(connections), 1):
                converter.add(connection, reader.deserialize(raw, connection.msgtype))
                if progress is not None:
                    progress(count, total)
    except XtdroneError:
        raise
    except Exception as error:  # damaged bytes raise any of them in rosbags
        raise SlamError(f"cannot read the bag '{shown(bag)}': {shown(error)}") from error
    converter.finish()
    return writer.frames


def _is_frd(reader: "AnyReader", topic: str) -> bool:
    """Returns whether the axes of an IMU are forward, right, down, by the name of its frame."""
    connections = [each for each in reader.connections if each.topic == topic]
    for connection, _, raw in reader.messages(connections):
        message: RosMessage = reader.deserialize(raw, connection.msgtype)
        frame: str = message.header.frame_id
        return frame.endswith(_FRD)
    return False


class _Converter:
    """Passes messages to a writer; an image waits for the other image of its time."""

    def __init__(
        self, writer: DatasetWriter, topics: list[str], poses: list[list[float]], is_frd: bool
    ) -> None:
        self._writer, self._topics = writer, topics
        self._poses = poses  # rows of a TUM file
        self._axes = [1.0, -1.0, -1.0] if is_frd else [1.0, 1.0, 1.0]
        self._sides: tuple[dict[int, np.ndarray], ...] = ({}, {})  # images by time

    def add(self, connection: "Connection", message: RosMessage) -> None:
        """Takes a message of rosbags."""
        index = self._topics.index(connection.topic)
        t_us = message.header.stamp.sec * 1_000_000 + message.header.stamp.nanosec // 1000
        if index < 2:
            self._sides[index][t_us] = _grey(message, connection.topic)
            for both in sorted(set(self._sides[0]) & set(self._sides[1])):
                left, right = (side.pop(both) for side in self._sides)
                self._writer.images(both, left, right)
        elif index == 2:
            gyro, accel = (
                np.multiply(_numbers(values, "xyz"), self._axes)
                for values in (message.angular_velocity, message.linear_acceleration)
            )
            self._writer.imu(t_us, gyro, accel)
        else:
            position, quat = (_attribute(message, path) for path in _POSES[connection.msgtype])
            self._poses.append([t_us * 1e-6, *_numbers(position, "xyz"), *_numbers(quat, "xyzw")])

    def finish(self) -> None:
        """Writes the truth, with velocities by differentiation, and closes the dataset."""
        if self._writer.frames == 0 or len(self._poses) < 2:
            raise SlamError(
                f"the bag has {self._writer.frames} stereo pairs with equal stamps "
                f"and {len(self._poses)} true poses: a dataset needs both"
            )
        table = np.array(self._poses)
        table = table[np.unique(table[:, 0], return_index=True)[1]]
        velocities = np.gradient(table[:, 1:4], table[:, 0], axis=0)
        for row, velocity in zip(table, velocities):
            self._writer.truth(round(row[0] * 1e6), row[1:4], row[4:], velocity)
        self._writer.close()


def _grey(message: RosMessage, topic: str) -> np.ndarray:
    """Returns the image (H, W) uint8 of a message."""
    channels = _GREY.get(message.encoding)
    if channels is None:
        raise SlamError(
            f"images on {topic} are {message.encoding}: supported are {', '.join(_GREY)}"
        )
    rows = np.asarray(message.data, np.uint8).reshape(message.height, message.step)
    pixels = rows[:, : message.width * channels]
    if channels == 1:
        return pixels
    import cv2

    colours = {"bgr8": cv2.COLOR_BGR2GRAY, "rgb8": cv2.COLOR_RGB2GRAY}[message.encoding]
    return cv2.cvtColor(
        np.ascontiguousarray(pixels).reshape(message.height, message.width, 3), colours
    )


def _numbers(value: RosMessage, names: str) -> list[float]:
    numbers = [getattr(value, name) for name in names]
    if not np.isfinite(numbers).all():
        raise SlamError(f"the bag has poses or IMU readings that are not finite: {numbers}")
    return numbers


def _attribute(value: RosMessage, path: str) -> RosMessage:
    for name in path.split("."):
        value = getattr(value, name)
    return value
