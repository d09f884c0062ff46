"""The keyboard's node: a terminal to the topics of one vehicle, all vehicles or the leader."""

import argparse
import struct
from collections.abc import Sequence

import rospy
from geometry_msgs.msg import Pose, Twist
from std_msgs.msg import String

from mavros_msgs.msg import ExtendedState, State
from xtdrone_core.runs import parent
from xtdrone_mavros.convert.geometry import Vector
from xtdrone_mavros.vehicle_kind import Kind
from xtdrone_ros1 import discovery, node
from xtdrone_ros1.messages import Message, lazy_class

from . import terminal
from .keyboard import LEADER, Teleop, VehicleState


class Topics:
    """Publishers to every vehicle and the leader, and the state of the vehicles."""

    def __init__(self, names: Sequence[str]):
        self.states: Sequence[VehicleState] = [VehicleState() for _ in names]
        self._names = names
        self._known: set[int] = set()  # vehicles whose kind is known
        self._cmd: dict[str, rospy.Publisher] = {}
        self._motion: dict[str, dict[str, rospy.Publisher]] = {}
        self._pose: dict[str, rospy.Publisher] = {}
        for who in (*names, LEADER):
            self._cmd[who] = rospy.Publisher(f"/xtdrone/{who}/cmd", String, queue_size=10)
            self._motion[who] = {
                kind: rospy.Publisher(f"/xtdrone/{who}/cmd_{word}_flu", Twist, queue_size=1)
                for kind, word in (("velocity", "vel"), ("acceleration", "accel"))
            }
            self._pose[who] = rospy.Publisher(f"/xtdrone/{who}/cmd_pose_enu", Pose, queue_size=1)
        self.leader = ""  # last line of /xtdrone/leader/info, after its last command
        rospy.Subscriber("/xtdrone/leader/info", String, self._on_leader_info, queue_size=5)
        pose = lazy_class("geometry_msgs/PoseStamped")
        for i, name in enumerate(names):
            mavros = discovery.mavros(name)
            rospy.Subscriber(f"{mavros}/state", State, self._on_state, i, queue_size=5)
            rospy.Subscriber(f"{mavros}/local_position/pose", pose, self._on_pose, i, queue_size=1)
            rospy.Subscriber(f"/xtdrone/{name}/info", String, self._on_info, i, queue_size=5)

    def send(self, who: str, command: str) -> None:
        """Publishes a command."""
        if who == LEADER:
            self.leader = ""
        self._cmd[who].publish(command)

    def move(self, who: str, kind: str, linear: Vector, turn: float) -> None:
        """Publishes a motion, "velocity" or "acceleration" [m/s, m/s^2, rad/s]."""
        twist = Twist()
        twist.linear.x, twist.linear.y, twist.linear.z = linear
        twist.angular.z = turn
        self._motion[who][kind].publish(twist)

    def set_position(self, who: str, pos: Vector) -> None:
        """Publishes a position, ENU [m]."""
        pose = Pose()
        pose.position.x, pose.position.y, pose.position.z = pos
        pose.orientation.w = 1.0
        self._pose[who].publish(pose)

    def _on_state(self, message: State, i: int) -> None:
        state = self.states[i]
        state.connected, state.armed = message.connected, message.armed
        state.mode = message.mode
        if message.connected and i not in self._known:
            self._set_kind(i, discovery.vehicle_kind(self._names[i]))

    def _set_kind(self, i: int, kind: Kind | None) -> None:
        if kind is None:
            return
        self._known.add(i)
        self.states[i].kind = kind
        if kind is Kind.VTOL:
            rospy.Subscriber(
                f"{discovery.mavros(self._names[i])}/extended_state",
                ExtendedState,
                self._on_extended_state,
                i,
                queue_size=5,
            )

    def _on_extended_state(self, message: ExtendedState, i: int) -> None:
        self.states[i].vtol_state = message.vtol_state

    def _on_pose(self, message: Message, i: int) -> None:
        size = struct.unpack_from("<I", message.data_bytes, 12)[0]
        x, y, z = struct.unpack_from("<3d", message.data_bytes, 16 + size)
        self.states[i].pos = x, y, z

    def _on_leader_info(self, message: String) -> None:
        self.leader = message.data

    def _on_info(self, message: String, i: int) -> None:
        self.states[i].info = message.data


def run(args: argparse.Namespace) -> None:
    """Runs the node from start to end."""
    terminal.require("rosrun xtdrone_control keyboard")
    signals = parent.Signals()
    node.require_master()
    node.require_alone("keyboard")
    rospy.init_node("keyboard", disable_rostime=True, disable_signals=True)
    names = discovery.fleet(args.wait)
    topics = Topics(names)
    try:
        terminal.control(
            Teleop(names, topics, args.formations.split()), lambda: topics.leader, rospy.is_shutdown
        )
    finally:
        rospy.signal_shutdown("the user has quit")
    parent.end_launch()
    signals.linger()
