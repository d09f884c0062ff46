"""The leader's topics: commands and velocities in; pose, pattern, topology and results out."""

import numpy as np

from xtdrone_core import Estimates
from xtdrone_mavros import ros_serialisation

from .. import serialisation
from ..errors import FormationError
from ..service import FormationService, PatternLeader
from .fleet import RosFleet


class LeaderTopics:
    """/xtdrone/leader/..., /xtdrone/formation_pattern and /xtdrone/communication_topology."""

    def __init__(self, fleet: RosFleet, leader: FormationService | PatternLeader) -> None:
        """Subscribes and advertises.

        Args:
            fleet: A RosFleet whose first vehicle is the leader.
            leader: A FormationService or PatternLeader.
        """
        self._fleet, self._leader, self._ros = fleet, leader, fleet.ros
        self._edges: np.ndarray | None = None
        self._pattern = self._ros.output("/xtdrone/formation_pattern", "std_msgs/Float32MultiArray")
        self._topology = self._ros.output(
            "/xtdrone/communication_topology", "std_msgs/Int32MultiArray", latched=True
        )
        self._pose = self._ros.output("/xtdrone/leader/pose", "geometry_msgs/PoseStamped")
        self._info = self._ros.output("/xtdrone/leader/info", "std_msgs/String")
        self._ros.listen("/xtdrone/leader/cmd", "std_msgs/String", self._on_command)
        for what, kind in (("vel_flu", "Twist"), ("accel_flu", "Twist"), ("pose_enu", "Pose")):
            kind = f"geometry_msgs/{kind}"
            out = self._ros.output(f"/xtdrone/{fleet.names[0]}/cmd_{what}", kind)
            self._ros.listen(f"/xtdrone/leader/cmd_{what}", kind, out.publish)

    def _on_command(self, data: bytes) -> None:
        command = serialisation.text(data).strip()
        try:
            if command and not self._leader.commands.push(command):
                self._fleet.send_command(0, command)
        except FormationError as error:
            self.refuse(error)

    def inform(self, text: str) -> None:
        """Logs a line and publishes it on /xtdrone/leader/info."""
        self._ros.info(text)
        self._info.publish(ros_serialisation.text(text))

    def refuse(self, error: FormationError) -> None:
        """Logs and publishes why a formation is not flown."""
        self._ros.error(str(error))
        self._info.publish(ros_serialisation.text(str(error)))

    def publish(self, t_us: int, estimates: Estimates) -> None:
        """Publishes the leader's pose, pattern and topology of one period."""
        self._pose.publish(
            ros_serialisation.pose_stamped(t_us, "map", estimates.pos[0], estimates.quat[0])
        )
        pattern = self._leader.pattern
        if pattern is None:
            return
        self._pattern.publish(ros_serialisation.multi_array(pattern.T, "f4"))
        edges = self._leader.edges
        if edges is not None and edges is not self._edges:
            self._edges = edges
            matrix = np.zeros((len(pattern) + 1,) * 2, dtype=int)
            matrix[edges[:, 0], edges[:, 1]] = 1  # the row's vehicle hears the column's
            self._topology.publish(ros_serialisation.multi_array(matrix, "i4"))
