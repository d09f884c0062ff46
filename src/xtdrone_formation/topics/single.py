"""XTDrone's leader and follower classes for one vehicle, over the topics of ROS 1 or ROS 2.

Those of ROS 1 are in nodes/single.py. Subclass them:

    from xtdrone_formation.nodes.single import Follower

    class Mine(Follower):
        def velocity(self, t_us, own, neighbours):
            return neighbours.vel[0] + 0.5 * (neighbours.pos[0] + own.slot[0] - own.pos[0])

    Mine("iris", 3, 9).loop()
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from xtdrone_core import SetPoints

from .. import serialisation
from ..errors import FormationError
from ..network import PACKET, NeighbourState
from ..schemes import CentralisedFollower, FollowerParameters, SelfState, saturate
from ..service import PatternLeader
from .fleet import EventLog, Listener, RosFleet, rotate
from .leader import LeaderTopics
from .ros import Ros

_STILL_US = 150_000  # time without a change after which the pattern is at rest [us]
_SILENT_US = 1_000_000  # time without a pattern after which the followers are released [us]


class TopicLeader:
    """The leader: assigns slots and publishes pose, pattern and topology."""

    def __init__(
        self, ros: Ros, vehicle_type: str, leader_id: int, n: int, instance: int | None = None
    ) -> None:
        """Lets vehicle `type_id` lead n vehicles, itself included.

        Args:
            ros: The node.
            vehicle_type: First part of the namespace.
            leader_id: Its second part.
            n: Number of vehicles.
            instance: Instance of the simulation to write events to; None for none.

        Raises:
            FormationError: Fewer than two vehicles.
        """
        self.fleet = RosFleet(ros, [f"{vehicle_type}_{leader_id}"], info=False)
        self._log = EventLog(instance)
        self.leader = PatternLeader(n, on_event=self._on_event)
        self._topics = LeaderTopics(self.fleet, self.leader)

    def _on_event(self, t_us: int, name: str, **values: Any) -> None:  # values of JSON
        self._topics.inform(
            f"formation {values['formation']}: {values['method']}, {values['duration_s']:.1f} s"
        )
        self._log(t_us, name, **values)

    def loop(self) -> None:
        """Runs until the node ends."""
        for t_us, estimates in self.fleet.periods():
            try:
                self.leader.step(t_us, float(estimates.pos[0, 2]))
            except FormationError as error:
                self._topics.refuse(error)
                continue
            self._topics.publish(t_us, estimates)


class TopicFollower:
    """One follower: keeps its slot of /xtdrone/formation_pattern relative to the leader."""

    def __init__(
        self,
        ros: Ros,
        vehicle_type: str,
        vehicle_id: int,
        n: int,
        parameters: FollowerParameters = FollowerParameters(),
        leader: str = "",
    ) -> None:
        """Lets vehicle `type_id`, id 1 to n - 1, follow the leader.

        Args:
            ros: The node.
            vehicle_type: First part of the namespace.
            vehicle_id: Its second part.
            n: Number of vehicles, the leader included.
            parameters: Parameters of the control law.
            leader: Namespace of the leader, of any type; empty: `type_0`.

        Raises:
            FormationError: An id that is not a follower's.
        """
        require_follower(vehicle_id, n)
        self.id, self.n, self.parameters = vehicle_id, n, parameters
        name = f"{vehicle_type}_{vehicle_id}"
        self.fleet = RosFleet(ros, [name], info=False)
        self._law = CentralisedFollower(parameters)
        self._leader = Listener(
            ros, [leader or f"{vehicle_type}_0"], "local_position/odom", "nav_msgs/Odometry"
        )
        self._pattern: np.ndarray | None = None
        self._pattern_us = 0
        self._now_us = 0
        self._active = False  # whether a formation was commanded: the topology was published
        self._slot: np.ndarray | None = None
        self._slot_vel, self._slot_us = np.zeros(3), 0
        self._avoid = np.zeros(3)
        self._warned = False  # has said that the pattern is for another number of vehicles
        ros.listen("/xtdrone/formation_pattern", "std_msgs/Float32MultiArray", self._on_pattern)
        ros.listen("/xtdrone/communication_topology", "std_msgs/Int32MultiArray", self._on_topology)
        ros.listen(f"/xtdrone/{name}/avoid_vel", "geometry_msgs/Vector3", self._on_avoid)

    def velocity(self, t_us: int, own: SelfState, neighbours: NeighbourState) -> np.ndarray:
        """Returns the desired velocity (3,) before avoidance and limit [m/s]."""
        return self._law.control(t_us, own, neighbours)[0]

    def loop(self) -> None:
        """Runs until the node ends; inactive before the first formation and after the last."""
        out = SetPoints.empty(1)
        while not self.fleet.ros.ended():
            t_us = self.fleet.wait()
            if t_us is None:
                continue
            self._now_us = t_us
            estimates = self.fleet.estimates(t_us)
            if estimates is None or not self._active or not self._leader.complete:
                continue
            if self._pattern is None or self._now_us - self._pattern_us > _SILENT_US:
                continue
            slot = self._follow_pattern(self._pattern, t_us)
            own = SelfState(
                estimates.pos, estimates.vel, slot[None], self._slot_vel[None], np.zeros((1, 3))
            )
            desired = (
                self.velocity(t_us, own, self._neighbours(t_us))
                + self.parameters.avoid_gain * self._avoid
            )
            out.vel[:] = saturate(desired[None], self.parameters.speed_limit)
            self.fleet.send(out)

    def _on_pattern(self, data: bytes) -> None:
        pattern = serialisation.multi_array(data, "f4")
        if pattern.size == 3 * (self.n - 1):
            self._pattern, self._pattern_us = pattern.reshape(3, -1).T, self._now_us
        elif not self._warned:
            self._warned = True
            self.fleet.ros.error(
                f"the pattern is for {pattern.size // 3 + 1} vehicles, not {self.n}"
            )

    def _on_topology(self, data: bytes) -> None:
        self._active = True

    def _on_avoid(self, data: bytes) -> None:
        self._avoid = np.array(serialisation.vector(data))

    def _follow_pattern(self, pattern: np.ndarray, t_us: int) -> np.ndarray:
        """Returns the slot and updates its velocity by differentiation; a jump counts as zero."""
        slot: np.ndarray = pattern[self.id - 1]
        if self._slot is None or np.array_equal(slot, self._slot):
            if t_us - self._slot_us > _STILL_US:
                self._slot_vel = np.zeros(3)
            self._slot = slot
            return slot
        velocity = (slot - self._slot) / max((t_us - self._slot_us) * 1e-6, 0.02)
        fast = np.linalg.norm(velocity) > self.parameters.speed_limit
        still = t_us - self._slot_us > _STILL_US
        self._slot_vel = np.zeros(3) if fast or still else velocity
        self._slot, self._slot_us = slot, t_us
        return slot

    def _neighbours(self, t_us: int) -> NeighbourState:
        """Returns the leader's odometry as the only packet."""
        pos, quat, vel, _ = serialisation.odometry(self._leader.last[0])
        packet = np.zeros((1, PACKET))
        packet[0, 0:3] = pos
        packet[0, 3:6] = rotate(np.array([quat]), np.array([vel]))[0]
        age = max((t_us - serialisation.stamp(self._leader.last[0])) * 1e-6, 0.0)
        first = np.zeros(1, dtype=int)
        return NeighbourState(first, first, packet, np.array([age]), csr_matrix(np.ones((1, 1))))


def require_follower(vehicle_id: int, n: int) -> None:
    """Checks a follower's number.

    Raises:
        FormationError: It is not 1 to n - 1.
    """
    if not 1 <= vehicle_id < n:
        raise FormationError(
            f"follower {vehicle_id} of {n} vehicles is not allowed: 0 is the "
            f"leader, give 1 to {n - 1}"
        )
