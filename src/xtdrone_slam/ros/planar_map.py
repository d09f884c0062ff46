"""SLAM in the plane on ROS topics: a LaserScan and an IMU in, /map and a pose out."""

import argparse
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import rospy

from xtdrone_mavros.inputs.fields import time_us
from xtdrone_ros1 import discovery, node
from xtdrone_ros1.messages import Fields, Message, fill, ros_class

from ..lidar.planar import PlanarSlam
from .images import subscribe_imu

_MAP_US = 1_000_000  # simulated time between two maps [us]
_FRAME = "map"

Publish = Callable[[Fields], object]


class PlanarMap:
    """Feeds a PlanarSlam and publishes what it finds; its methods are called one at a time."""

    def __init__(
        self, pose: Publish, grid: Publish, offset: Sequence[float], resolution: float
    ) -> None:
        """Begins at the first scan.

        Args:
            pose: Called with the fields of a geometry_msgs/PoseStamped at each scan.
            grid: Called with the fields of a nav_msgs/OccupancyGrid each second.
            offset: (3,) lidar from the IMU, body [m].
            resolution: Side of a cell of the map [m].
        """
        self.slam = PlanarSlam()
        self._pose, self._grid = pose, grid
        self._offset, self._resolution = np.array(offset), resolution
        self._readings: deque[tuple[int, np.ndarray, np.ndarray]] = deque()
        self._next_us = 0

    def imu(self, t_us: int, gyro: np.ndarray, accel: np.ndarray) -> None:
        """Takes a reading: (3,) [rad/s] and (3,) [m/s^2], body; it is used with its scan."""
        self._readings.append((t_us, gyro, accel))

    def scan(self, message: Message) -> None:
        """Takes a sensor_msgs/LaserScan, whose stamp is the time of its first ray."""
        ranges = np.array(message.ranges)
        count = len(ranges)
        end_us = time_us(message.header) + round(1e6 * message.time_increment * count)
        while self._readings and self._readings[0][0] <= end_us:
            t_us, gyro, accel = self._readings.popleft()
            self.slam.imu(t_us * 1e-6, gyro, accel)
        seen = np.isfinite(ranges) & (ranges >= message.range_min) & (ranges <= message.range_max)
        angles = message.angle_min + message.angle_increment * np.arange(count)
        rays = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(count)])
        points = (rays * np.where(seen, ranges, 0.0)[:, None])[seen] + self._offset
        times = (message.time_increment * (np.arange(count) - count))[seen]
        self.slam.scan(end_us * 1e-6, points, times)
        self._publish(end_us)

    def _publish(self, t_us: int) -> None:
        stamp = {"secs": t_us // 1_000_000, "nsecs": t_us % 1_000_000 * 1000}
        x, y, _ = self.slam.pose
        self._pose(
            {
                "header": {"stamp": stamp, "frame_id": _FRAME},
                "pose": {
                    "position": {"x": x, "y": y},
                    "orientation": dict(zip("xyzw", self.slam.attitude.as_quat().tolist())),
                },
            }
        )
        if t_us >= self._next_us:
            self._next_us = t_us + _MAP_US
            self._grid(self.slam.grid(self._resolution).message(stamp["secs"], stamp["nsecs"]))


def run(args: argparse.Namespace) -> None:
    """Runs the node from start to end; saves the map if that is wanted."""
    node.require_master()
    node.start("planar_map", disable_rostime=True)
    mavros = discovery.mavros(args.vehicle)

    def publisher(topic: str, kind: str, latch: bool) -> Publish:
        topics = rospy.Publisher(topic, ros_class(kind), queue_size=5, latch=latch)
        return lambda fields: topics.publish(fill(ros_class(kind)(), fields))

    planar = PlanarMap(
        publisher(f"/{args.vehicle}/planar_map/pose", "geometry_msgs/PoseStamped", False),
        publisher("/map", "nav_msgs/OccupancyGrid", True),
        args.offset,
        args.resolution,
    )
    subscribe_imu(f"{mavros}/imu/data_raw", planar.imu)
    topic = args.scan or f"/{args.vehicle}/scan"
    rospy.Subscriber(topic, ros_class("sensor_msgs/LaserScan"), planar.scan, queue_size=50)
    while not rospy.core.is_shutdown_requested():
        rospy.rostime.wallsleep(0.1)
    if args.save and planar.slam.keyframes:
        planar.slam.grid(args.resolution).save(Path(args.save))
        print(f"{args.save}.pgm, {args.save}.yaml")
