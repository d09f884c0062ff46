"""Stereo images and IMU readings of ROS topics as arrays."""

from collections.abc import Callable, Sequence

import numpy as np
import rospy

from xtdrone_mavros.inputs.fields import time_us, xyz
from xtdrone_ros1.messages import Message, ros_class

from ..benchmark.stereo_pairs import SIDES

_BUFFER = 1 << 25  # for images that arrive while the node is busy [bytes]


def subscribe_images(
    topics: Sequence[str], take: Callable[[str, int, np.ndarray], None]
) -> list[rospy.Subscriber]:
    """Subscribes to mono8 images.

    Args:
        topics: Of the left and the right image.
        take: Called with the side, the time [us] and the image (H, W) uint8.
    """

    def subscribe(side: str, topic: str) -> rospy.Subscriber:
        def on_image(message: Message) -> None:
            take(side, time_us(message.header), pixels(message))

        kind = ros_class("sensor_msgs/Image")
        return rospy.Subscriber(topic, kind, on_image, queue_size=20, buff_size=_BUFFER)

    return [subscribe(side, topic) for side, topic in zip(SIDES, topics)]


def subscribe_imu(
    topic: str, take: Callable[[int, np.ndarray, np.ndarray], None]
) -> rospy.Subscriber:
    """Subscribes to IMU readings.

    Args:
        topic: Of sensor_msgs/Imu.
        take: Called with the time [us], rates (3,) [rad/s] and specific force (3,) [m/s^2], body.
    """

    def on_imu(message: Message) -> None:
        gyro, accel = message.angular_velocity, message.linear_acceleration
        take(time_us(message.header), np.array(xyz(gyro)), np.array(xyz(accel)))

    return rospy.Subscriber(topic, ros_class("sensor_msgs/Imu"), on_imu, queue_size=500)


def pixels(message: Message) -> np.ndarray:
    """Returns a mono8 image (H, W) uint8, without the padding of its rows."""
    rows = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)
    return rows[:, : message.width]
