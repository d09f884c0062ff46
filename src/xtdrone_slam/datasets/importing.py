"""Import of a bag recorded elsewhere, with a calibration by Kalibr, as a dataset."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from xtdrone_core.runs import bags

from ..errors import SlamError
from . import kalibr, trajectory_file
from .dataset import DatasetWriter

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
    calibration, topics = kalibr.read(chain, imu)
    from_file = Path(truth).is_file()
    poses = trajectory_file.read(Path(truth)).tolist() if from_file else []
    topics = topics if from_file else [*topics, truth]
    with bags.opened(Path(bag), SlamError) as reader:
        missing = [topic for topic in topics if topic not in reader.topics]
        if missing:
            raise SlamError(
                f"'{bag}' has no topic {', '.join(missing)}; it has {reader.described()}"
            )
        kind = None if from_file else reader.topics[truth]
        if kind not in (None, *bags.POSES):
            raise SlamError(
                f"the topic {truth} has the type {kind}: the truth must be one of "
                f"{', '.join(bags.POSES)}, or a TUM file"
            )
        # Kalibr's files do not state the rate of the cameras.
        rate = round(reader.counts[topics[0]] / reader.duration_s, 2)
        calibration = replace(
            calibration,
            left=replace(calibration.left, rate=rate),
            right=replace(calibration.right, rate=rate),
        )
        is_frd = _is_frd(reader, topics[2])
        writer = DatasetWriter(target, calibration.flipped() if is_frd else calibration)
        converter = _Converter(writer, topics, reader.topics, poses, is_frd)
        total = sum(reader.counts[topic] for topic in topics)
        for count, (topic, _, message) in enumerate(reader.messages(topics), 1):
            converter.add(topic, message)
            if progress is not None:
                progress(count, total)
    converter.finish()
    return writer.frames


def _is_frd(reader: bags.BagReader, topic: str) -> bool:
    """Returns whether the axes of an IMU are forward, right, down, by the name of its frame."""
    for _, _, message in reader.messages([topic]):
        frame: str = message.header.frame_id
        return frame.endswith(_FRD)
    return False


class _Converter:
    """Passes messages to a writer; an image waits for the other image of its time."""

    def __init__(
        self,
        writer: DatasetWriter,
        topics: list[str],
        kinds: Mapping[str, str],
        poses: list[list[float]],
        is_frd: bool,
    ) -> None:
        self._writer, self._topics, self._kinds = writer, topics, kinds
        self._poses = poses  # rows of a TUM file
        self._axes = [1.0, -1.0, -1.0] if is_frd else [1.0, 1.0, 1.0]
        self._sides: tuple[dict[int, np.ndarray], ...] = ({}, {})  # images by time

    def add(self, topic: str, message: bags.RosMessage) -> None:
        """Takes a message of rosbags."""
        index = self._topics.index(topic)
        t_us = message.header.stamp.sec * 1_000_000 + message.header.stamp.nanosec // 1000
        if index < 2:
            self._sides[index][t_us] = _grey(message, topic)
            for both in sorted(set(self._sides[0]) & set(self._sides[1])):
                left, right = (side.pop(both) for side in self._sides)
                self._writer.images(both, left, right)
        elif index == 2:
            gyro, accel = (
                np.multiply(_finite((values.x, values.y, values.z)), self._axes)
                for values in (message.angular_velocity, message.linear_acceleration)
            )
            self._writer.imu(t_us, gyro, accel)
        else:
            numbers = _finite(bags.pose(self._kinds[topic], message))
            self._poses.append([t_us * 1e-6, *numbers])

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


def _grey(message: bags.RosMessage, topic: str) -> np.ndarray:
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


def _finite(numbers: tuple[float, ...]) -> tuple[float, ...]:
    if not np.isfinite(numbers).all():
        raise SlamError(f"the bag has poses or IMU readings that are not finite: {numbers}")
    return numbers
