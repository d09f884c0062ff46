"""The leader's topics: commands and velocities in; pose, pattern, topology and results out."""

import numpy as np
import rospy
from geometry_msgs.msg import Pose, PoseStamped, Twist
from std_msgs.msg import Float32MultiArray, Int32MultiArray, String

from xtdrone_formation.errors import FormationError


class LeaderTopics:
    """/xtdrone/leader/..., /xtdrone/formation_pattern and /xtdrone/communication_topology."""

    def __init__(self, fleet, leader):
        """Subscribes and advertises.

        Args:
            fleet: A RosFleet whose first vehicle is the leader.
            leader: A FormationService or PatternLeader.
        """
        self._fleet, self._leader = fleet, leader
        self._edges = None
        self._pattern = rospy.Publisher("/xtdrone/formation_pattern", Float32MultiArray,
                                        queue_size=5)
        self._topology = rospy.Publisher("/xtdrone/communication_topology", Int32MultiArray,
                                         queue_size=5, latch=True)
        self._pose = rospy.Publisher("/xtdrone/leader/pose", PoseStamped, queue_size=5)
        self._info = rospy.Publisher("/xtdrone/leader/info", String, queue_size=20)
        rospy.Subscriber("/xtdrone/leader/cmd", String, self._on_command)
        for what, kind in (("vel_flu", Twist), ("accel_flu", Twist), ("pose_enu", Pose)):
            out = rospy.Publisher(f"/xtdrone/{fleet.names[0]}/cmd_{what}", kind, queue_size=5)
            rospy.Subscriber(f"/xtdrone/leader/cmd_{what}", kind, out.publish, queue_size=5)

    def _on_command(self, message):
        command = message.data.strip()
        try:
            if command and not self._leader.commands.push(command):
                self._fleet.send_command(0, command)
        except FormationError as error:
            self.refuse(error)

    def tell(self, text: str) -> None:
        """Logs a line and publishes it on /xtdrone/leader/info."""
        rospy.loginfo("%s", text)
        self._info.publish(text)

    def refuse(self, error: FormationError) -> None:
        """Logs and publishes why a formation is not flown."""
        rospy.logerr("%s", error)
        self._info.publish(str(error))

    def publish(self, t_us: int, estimates) -> None:
        """Publishes the leader's pose, pattern and topology of one period."""
        message = PoseStamped()
        message.header.stamp = rospy.Time(t_us // 1_000_000, t_us % 1_000_000 * 1000)
        message.header.frame_id = "map"
        p, q = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = estimates.pos[0].tolist()
        q.x, q.y, q.z, q.w = estimates.quat[0].tolist()
        self._pose.publish(message)
        pattern = self._leader.pattern
        if pattern is None:
            return
        self._pattern.publish(Float32MultiArray(data=pattern.T.ravel().tolist()))
        edges = self._leader.edges
        if edges is not None and edges is not self._edges:
            self._edges = edges
            matrix = np.zeros((len(pattern) + 1,) * 2, dtype=int)
            matrix[edges[:, 0], edges[:, 1]] = 1  # the row's vehicle hears the column's
            self._topology.publish(Int32MultiArray(data=matrix.ravel().tolist()))
