"""Images, depth, scans and clouds, under the names that they have in ROS 1.

Nothing is rendered before somebody subscribes.
"""

from collections.abc import Sequence

from sensor_models import ros_messages
from sensor_models.frame_names import frame_name
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.frame_ring import FrameReader
from xtdrone_core.state import SensorDescription

from .publishing import Frames
from .topics import pegasus
from .topics.row import numbered
from .wire.node import Node
from .wire.quality import SENSOR
from .wire.types import Fields, ros2_name


class Cameras:
    """The publishers of a fleet's cameras and lidars."""

    def __init__(
        self,
        node: Node,
        frames: Frames,
        namespaces: Sequence[str],
        sensors: Sequence[SensorDescription],
    ):
        """Creates the publishers, and publishes the frames of the sensors.

        Args:
            node: Node of the publishers.
            frames: Transforms of the vehicles.
            namespaces: What the vehicles' topics begin with: /NAME, or nothing.
            sensors: Descriptions of the cameras and lidars.
        """
        self._node = node
        self._writers = {
            topic: node.writer(topic, ros2_name(kind), SENSOR)
            for sensor in sensors
            for topic, kind in ros_messages.topics(sensor)
        }
        self._rings: list[tuple[SensorDescription, FrameReader]] = []
        if sensors:
            frames.publish_static(
                [_body_frame(i, namespace) for i, namespace in enumerate(namespaces)]
                + [
                    (part["header"]["frame_id"], part["child_frame_id"], part["transform"])
                    for part in ros_messages.transforms(list(sensors))
                ]
            )

    def _wanted(self, topic: str) -> bool:
        return self._writers[topic].wanted

    def publish(self, client: ControlClient) -> None:
        """Publishes what was rendered since the last call; requests it at the first subscriber.

        Args:
            client: Client of the simulation's control socket.

        Raises:
            ControlError: The simulation has ended.
        """
        if not self._rings and any(map(self._wanted, self._writers)):
            self._rings = [
                (sensor, FrameReader(sensor["ring"], sensor["arrays"]))
                for sensor in client.request("sensors")["sensors"]
            ]
        for sensor, ring in self._rings:
            for t_us, data in ring.read():
                for topic, kind, fields in ros_messages.messages(sensor, t_us, data, self._wanted):
                    self._send(topic, ros2_name(kind), fields)

    def _send(self, topic: str, kind: str, fields: Fields) -> None:
        types = self._node.types
        self._writers[topic].write(types.serialised(types.message(kind, **fields)))


def _body_frame(i: int, namespace: str) -> tuple[str, str, Fields]:
    """Returns the body's frame under ROS 1's name, whose children are its sensors."""
    return numbered(pegasus.BODY, i), frame_name(namespace, "base_link"), {}
