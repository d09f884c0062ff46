"""Subcommand `xtdrone ros2 keyboard`: XTDrone's keyboard over ROS 2's topics, without ROS 2."""

import functools
from collections.abc import Sequence
from typing import Any

from xtdrone_control import terminal
from xtdrone_control.keyboard import LEADER, Teleop, VehicleState
from xtdrone_control.vehicle_kind import OF_VEHICLE_TYPE, Kind
from xtdrone_core import ControlError, modes
from xtdrone_core.runs import ports
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.scenario.options import number_type
from xtdrone_core.scenario.scenario import MAX_DOMAIN, ros_domain

from .errors import Ros2Error

LOCAL = "127.0.0.1"
_ARMED = 2  # arming_state of px4_msgs/VehicleStatus
EXAMPLES = """the simulation runs in another terminal:
  xtdrone sim --n 9 --ros2 true

examples:
  xtdrone ros2 keyboard                         that simulation, and all of its vehicles
  xtdrone ros2 keyboard --names iris_0,iris_1 --address 192.168.1.21 --domain 3
                                                one on another machine, by its vehicles' names
"""


def register(subparsers: Any) -> None:
    """`xtdrone ros2`."""
    parser = subparsers.add_parser("ros2", help="tools for ROS 2's topics, without ROS 2")
    tools = parser.add_subparsers(dest="tool", metavar="TOOL", required=True)
    keyboard = tools.add_parser("keyboard", epilog=EXAMPLES,
                                help="command one vehicle or all from the keyboard")
    keyboard.add_argument("--names", metavar="LIST", default="",
                          help="vehicles, separated by commas, in the order of the fleet (those "
                               "of the simulation on this machine)")
    keyboard.add_argument("--domain", metavar="ID", default=ros_domain(),
                          type=number_type("domain", 0, MAX_DOMAIN, whole=True),
                          help="ROS_DOMAIN_ID (that of the environment, or 0)")
    keyboard.add_argument("--address", metavar="ADDRESS", default=LOCAL,
                          help=f"IPv4 address of this machine's interface ({LOCAL})")
    ports.add_option(keyboard)
    keyboard.set_defaults(run=_keyboard)


def _keyboard(args):
    terminal.require("xtdrone ros2 keyboard")
    names = [name for name in args.names.split(",") if name] or _names(args.instance)
    try:
        from .wire.node import Node
        from .wire.types import Types
    except ImportError as error:
        raise Ros2Error(f"the keyboard needs {error.name}: pip install 'xtdrone[ros2]'") from error
    node = Node(Types(), "/keyboard", args.domain, args.address)
    try:
        topics = Topics(node, names)
        node.announce()
        terminal.control(Teleop(names, topics), lambda: topics.leader, topics.handle)
    finally:
        node.close()


def _names(instance):
    try:
        client = ControlClient(instance)
    except ControlError as error:
        raise Ros2Error("no simulation on this machine: start one with xtdrone sim --ros2 true, "
                        "or give --names of one on another machine") from error
    try:
        return client.request("status")["vehicles"]
    finally:
        client.close()


class Topics:
    """Publishers to every vehicle and the leader, and the state of the vehicles.

    Attributes:
        states: VehicleState of each vehicle.
        leader: Last line of /xtdrone/leader/info.
    """

    def __init__(self, node: Any, names: Sequence[str]):
        """Publishes and subscribes.

        Args:
            node: A Node.
            names: Of the vehicles, in the order of the fleet.
        """
        from .topics.pegasus import NAMESPACE
        from .topics.px4_out import namespace
        from .topics.row import numbered
        from .wire.quality import DEFAULT, SENSOR

        self._node = node
        self.states = [VehicleState() for _ in names]
        self.leader = ""
        self._cmd, self._motion, self._pose = {}, {}, {}
        for who in (*names, LEADER):
            top = f"/xtdrone/{who}/cmd"
            self._cmd[who] = node.writer(top, "std_msgs/msg/String", DEFAULT)
            self._motion[who] = {
                kind: node.writer(f"{top}_{word}_flu", "geometry_msgs/msg/Twist", DEFAULT)
                for kind, word in (("velocity", "vel"), ("acceleration", "accel"))}
            self._pose[who] = node.writer(f"{top}_pose_enu", "geometry_msgs/msg/Pose", DEFAULT)
        self._listen("/xtdrone/leader/info", "std_msgs/msg/String", DEFAULT, self._on_leader)
        for state, name, i in zip(self.states, names, range(len(names))):
            for topic, kind, quality, take in (
                    (f"/xtdrone/{name}/info", "std_msgs/msg/String", DEFAULT, _on_info),
                    (f"{numbered(NAMESPACE, i)}/state/pose", "geometry_msgs/msg/PoseStamped",
                     SENSOR, _on_pose),
                    (f"{namespace(i)}/fmu/out/vehicle_status", "px4_msgs/msg/VehicleStatus",
                     SENSOR, _on_status)):
                self._listen(topic, kind, quality, functools.partial(take, state))

    def _listen(self, topic, kind, quality, take):
        self._node.reader(topic, kind, lambda data: take(self._node.types.read(data, kind)),
                          quality)

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
        self._send(self._motion[who][kind], "geometry_msgs/msg/Twist",
                   linear=dict(zip("xyz", linear)), angular={"z": turn})

    def set_position(self, who: str, pos: tuple) -> None:
        """Publishes a position, ENU [m]."""
        self._send(self._pose[who], "geometry_msgs/msg/Pose", position=dict(zip("xyz", pos)),
                   orientation={"w": 1.0})

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
    state.kind = Kind.VTOL if message.is_vtol else OF_VEHICLE_TYPE.get(message.vehicle_type,
                                                                       Kind.MULTIROTOR)
