"""Images, depth, scans and clouds, with the rows and names that ROS 1 has for them.

Nothing is drawn before somebody subscribes.
"""

from typing import Any

from sensor_models.rendered import messages
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.runs.frame_ring import FrameReader

from .publishing import Frames
from .topics import pegasus
from .topics.row import numbered
from .wire.node import Node
from .wire.quality import SENSOR
from .wire.types import ros2_name


class Cameras:
    """The publishers of a fleet's cameras and lidars."""

    def __init__(self, node: Node, frames: Frames, names: list[str], sensors: list[dict]):
        """Makes the publishers, and tells where the sensors sit.

        Args:
            node: Theirs.
            frames: Of the vehicles.
            names: Of the vehicles.
            sensors: As RenderedSensors.describe() gives them.
        """
        self._node = node
        self._writers = {
            topic: node.writer(topic, ros2_name(kind), SENSOR)
            for sensor in sensors
            for topic, kind in messages.topics(sensor)
        }
        self._rings: list[tuple[dict, FrameReader]] = []
        if sensors:
            frames.tell_static(
                [_of_body(i, name) for i, name in enumerate(names)]
                + [
                    (part["header"]["frame_id"], part["child_frame_id"], part["transform"])
                    for part in messages.transforms(sensors)
                ]
            )

    def _wanted(self, topic: str) -> bool:
        return self._writers[topic].wanted

    def publish(self, client: ControlClient) -> None:
        """Publishes what was drawn since the last call; asks for it when it is first wanted.

        Args:
            client: Of the simulation's control socket.

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
                for topic, kind, fields in messages.messages(sensor, t_us, data, self._wanted):
                    self._send(topic, ros2_name(kind), fields)

    def _send(self, topic: str, kind: str, fields: dict[str, Any]) -> None:
        types = self._node.types
        self._writers[topic].write(types.serialised(types.message(kind, **fields)))


def _of_body(i: int, name: str) -> tuple[str, str, dict]:
    """The body's frame under ROS 1's name, below which its sensors are."""
    return numbered(pegasus.BODY, i), f"{name}/base_link", {}
