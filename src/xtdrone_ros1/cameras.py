"""Images, depth, scans and clouds of the fleet as ROS topics, and /tf_static of the sensors.

Follows the simulation's control socket: at each 20 ms of simulated time it
publishes what arrived since the last.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import rospy
from tf2_msgs.msg import TFMessage

from sensor_models import ros_messages as camera_messages
from xtdrone_core import ControlError
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.frame_ring import FrameReader
from xtdrone_core.state import SensorDescription

from . import discovery, node
from .messages import fill, ros_class

QUEUE = 5  # messages that wait for a slow subscriber


class Outputs:
    """Publishers of all topics of all sensors."""

    def __init__(self, sensors: list[SensorDescription]):
        self._publishers = {
            topic: rospy.Publisher(topic, ros_class(kind), queue_size=QUEUE)
            for sensor in sensors
            for topic, kind in camera_messages.topics(sensor)
        }
        self._static = rospy.Publisher("/tf_static", TFMessage, queue_size=1, latch=True)
        self._static.publish(fill(TFMessage(), {"transforms": camera_messages.transforms(sensors)}))

    def wanted(self, topic: str) -> bool:
        """Returns whether a topic has subscribers."""
        return self._publishers[topic].get_num_connections() > 0

    def publish(self, sensor: SensorDescription, t_us: int, data: dict[str, np.ndarray]) -> None:
        """Publishes one reading on all topics of its sensor."""
        for topic, kind, fields in camera_messages.messages(sensor, t_us, data, self.wanted):
            self._publishers[topic].publish(fill(ros_class(kind)(), fields))


def run(args: argparse.Namespace) -> None:
    """Runs the node from start to end."""
    node.require_master()
    node.start("xtdrone_cameras", disable_rostime=True)
    client = discovery.connect(args.instance, args.wait)
    sensors = client.request("sensors")["sensors"]
    if not sensors:
        print("no vehicle has cameras or lidars; nothing to publish")
        return
    outputs = Outputs(sensors)
    rings = [(sensor, FrameReader(sensor["ring"], sensor["arrays"])) for sensor in sensors]
    try:
        follow(client, outputs, rings)
    except ControlError as error:  # it may end at any moment of a tick
        print(error)


def follow(
    client: ControlClient, outputs: Outputs, rings: Sequence[tuple[SensorDescription, FrameReader]]
) -> None:
    """Publishes what the rings hold, tick by tick.

    Raises:
        ControlError: The simulation has ended.
    """
    client.request("subscribe", truth=False)
    following = False
    while not rospy.is_shutdown():
        if not client.ready(1.0):
            continue
        t_us = client.next_time()
        if not following:  # not before, since a simulation may be waiting for its bridge
            client.request("subscribe", barrier=True, truth=False)
            following = True
        for sensor, ring in rings:
            for stamp, data in ring.read():
                outputs.publish(sensor, stamp, data)
        client.done(t_us)
