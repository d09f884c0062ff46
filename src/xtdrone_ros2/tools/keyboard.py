"""XTDrone's keyboard over ROS 2's topics."""

import functools
from collections.abc import Sequence

from xtdrone_control import terminal
from xtdrone_control.keyboard import LEADER, Teleop, VehicleState
from xtdrone_core import modes

from ..topics.pegasus import NAMESPACE
from ..topics.px4_out import namespace
from ..topics.row import numbered
from ..wire.node import Node
from ..wire.quality import DEFAULT, SENSOR
from ..wire.types import Types
from .client import kind_of_status

_ARMED = 2  # arming_state of px4_msgs/VehicleStatus


def fly(names: Sequence[str], domain: int, address: str) -> None:
    """Commands vehicles until the keyboard is left.

    Args:
        names: Of the vehicles, in the order of the fleet.
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
            node: A Node.
            names: Of the vehicles, in the order of the fleet.
        """
        self._node = node
        self.states = [VehicleState() for _ in names]
        self.leader = ""
        self._cmd, self._motion, self._pose = {}, {}, {}
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

    def _listen(self, topic, kind, quality, take):
        self._node.reader(
            topic, kind, lambda data: take(self._node.types.read(data, kind)), quality
        )

    def _send(self, writer, kind, **fields):
        writer.write(self._node.types.serialised(self._node.types.message(kind, **fields)))

    def handle(self) -> bool:
        """Takes in what has come; never the end."""
        self._node.handle()
        return False

    def send(self, who: str, command: str) -> None:
        """Publishes a command."""
        if who == LEADER:
            self.leader = ""
        self._send(self._cmd[who], "std_msgs/msg/String", data=command)

    def move(self, who: str, kind: str, linear: tuple, turn: float) -> None:
        """Publishes a motion, "velocity" or "acceleration" [m/s, m/s^2, rad/s]."""
        self._send(
            self._motion[who][kind],
            "geometry_msgs/msg/Twist",
            linear=dict(zip("xyz", linear)),
            angular={"z": turn},
        )

    def set_position(self, who: str, pos: tuple) -> None:
        """Publishes a position, ENU [m]."""
        self._send(
            self._pose[who],
            "geometry_msgs/msg/Pose",
            position=dict(zip("xyz", pos)),
            orientation={"w": 1.0},
        )

    def _on_leader(self, message):
        self.leader = message.data


def _on_info(state, message):
    state.info = message.data


def _on_pose(state, message):
    position = message.pose.position
    state.pos = position.x, position.y, position.z


def _on_status(state, message):
    state.connected, state.armed = True, message.arming_state == _ARMED
    known = modes.NAV_STATES.get(message.nav_state)
    state.mode = modes.ros_name(known.custom_mode) if known else str(message.nav_state)
    state.kind = kind_of_status(message)
