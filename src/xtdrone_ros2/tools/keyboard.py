"""XTDrone's keyboard over ROS 2's topics."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from xtdrone_control import terminal
from xtdrone_control.keyboard import LEADER, Teleop, VehicleState
from xtdrone_core import modes
from xtdrone_mavros.convert.geometry import Vector

from ..topics.pegasus import NAMESPACE
from ..topics.px4_out import namespace
from ..topics.row import numbered
from ..wire.node import Node, Writer
from ..wire.quality import DEFAULT, SENSOR, Quality
from ..wire.types import Message, Types
from .client import kind_of_status

_ARMED = 2  # arming_state of px4_msgs/VehicleStatus


def fly(names: Sequence[str], domain: int, address: str) -> None:
    """Commands vehicles until the keyboard is left.

    Args:
        names: Namespaces of the vehicles, in the order of the fleet.
        domain: ROS_DOMAIN_ID.
        address: IPv4 address of the interface.

    Raises:
        Ros2Error: DDS cannot start there.
    """
    node = Node(Types(), "/keyboard", domain, address)
    try:
        topics = Topics(node, names)
        node.announce()
        terminal.control(Teleop(names, topics), lambda: topics.leader, topics.handle)
    finally:
        node.close()


class Topics:
    """Publishers to every vehicle and the leader, and the state of the vehicles.

    Attributes:
        states: VehicleState of each vehicle.
        leader: Last line of /xtdrone/leader/info.
    """

    def __init__(self, node: Node, names: Sequence[str]):
        """Publishes and subscribes.

        Args:
            node: Node of the topics.
            names: Namespaces of the vehicles, in the order of the fleet.
        """
        self._node = node
        self.states: Sequence[VehicleState] = [VehicleState() for _ in names]
        self.leader = ""
        self._cmd: dict[str, Writer] = {}
        self._motion: dict[str, dict[str, Writer]] = {}
        self._pose: dict[str, Writer] = {}
        for who in (*names, LEADER):
            top = f"/xtdrone/{who}/cmd"
            self._cmd[who] = node.writer(top, "std_msgs/msg/String", DEFAULT)
            self._motion[who] = {
                kind: node.writer(f"{top}_{word}_flu", "geometry_msgs/msg/Twist", DEFAULT)
                for kind, word in (("velocity", "vel"), ("acceleration", "accel"))
            }
            self._pose[who] = node.writer(f"{top}_pose_enu", "geometry_msgs/msg/Pose", DEFAULT)
        self._listen("/xtdrone/leader/info", "std_msgs/msg/String", DEFAULT, self._on_leader)
        for state, name, i in zip(self.states, names, range(len(names))):
            for topic, kind, quality, take in (
                (f"/xtdrone/{name}/info", "std_msgs/msg/String", DEFAULT, _on_info),
                (
                    f"{numbered(NAMESPACE, i)}/state/pose",
                    "geometry_msgs/msg/PoseStamped",
                    SENSOR,
                    _on_pose,
                ),
                (
                    f"{namespace(i)}/fmu/out/vehicle_status",
                    "px4_msgs/msg/VehicleStatus",
                    SENSOR,
                    _on_status,
                ),
            ):
                self._listen(topic, kind, quality, functools.partial(take, state))

    def _listen(
        self, topic: str, kind: str, quality: Quality, take: Callable[[Message], None]
    ) -> None:
        self._node.reader(
            topic, kind, lambda data: take(self._node.types.read(data, kind)), quality
        )

    def _send(self, writer: Writer, kind: str, **fields: Any) -> None:  # values of the message
        writer.write(self._node.types.serialised(self._node.types.message(kind, **fields)))

    def handle(self) -> bool:
        """Handles the messages that have come; returns False: it never ends the keyboard."""
        self._node.handle()
        return False

    def send(self, who: str, command: str) -> None:
        """Publishes a command."""
        if who == LEADER:
            self.leader = ""
        self._send(self._cmd[who], "std_msgs/msg/String", data=command)

    def move(self, who: str, kind: str, linear: Vector, turn: float) -> None:
        """Publishes a motion, "velocity" or "acceleration" [m/s, m/s^2, rad/s]."""
        self._send(
            self._motion[who][kind],
            "geometry_msgs/msg/Twist",
            linear=dict(zip("xyz", linear)),
            angular={"z": turn},
        )

    def set_position(self, who: str, pos: Vector) -> None:
        """Publishes a position, ENU [m]."""
        self._send(
            self._pose[who],
            "geometry_msgs/msg/Pose",
            position=dict(zip("xyz", pos)),
            orientation={"w": 1.0},
        )

    def _on_leader(self, message: Message) -> None:
        self.leader = message.data


def _on_info(state: VehicleState, message: Message) -> None:
    state.info = message.data


def _on_pose(state: VehicleState, message: Message) -> None:
    position = message.pose.position
    state.pos = position.x, position.y, position.z


def _on_status(state: VehicleState, message: Message) -> None:
    state.connected, state.armed = True, message.arming_state == _ARMED
    known = modes.NAV_STATES.get(message.nav_state)
    state.mode = modes.ros_name(known.custom_mode) if known else str(message.nav_state)
    state.kind = kind_of_status(message)
