"""XTDrone's leader and follower classes for one vehicle, on ROS 1: Leader(type, id, n).loop()."""

from typing import Any

from xtdrone_formation.topics.single import TopicFollower, TopicLeader, require_follower
from xtdrone_ros1.ros1 import Ros1


class Leader(TopicLeader):
    """The leader: assigns slots and publishes pose, pattern and topology."""

    def __init__(self, vehicle_type: str, leader_id: int, n: int, instance: int | None = None):
        """Begins as TopicLeader does; without a ROS master, it raises a Ros1Error."""
        super().__init__(Ros1("leader"), vehicle_type, leader_id, n, instance)


class Follower(TopicFollower):
    """One follower: keeps its slot of /xtdrone/formation_pattern relative to the leader."""

    def __init__(
        self,
        vehicle_type: str,
        vehicle_id: int,
        n: int,
        **options: Any,  # those of TopicFollower, each of its own type
    ):
        """Begins as TopicFollower does; without a ROS master, it raises a Ros1Error."""
        require_follower(vehicle_id, n)
        super().__init__(Ros1(f"follower{vehicle_id}"), vehicle_type, vehicle_id, n, **options)
