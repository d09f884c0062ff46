"""Nodes of ROS 2: PX4's and MAVROS's topics in a domain of their own, without the truth."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from xtdrone_core import Scenario, extras
from xtdrone_core.stations import open_stations

from ..errors import ChallengeError
from ..programs import Processes
from .door import Door, against_the_rules, await_servers

_FIRST_DOMAIN = 80
_PREFIX = "rt"  # of a topic's name in DDS


class Ros2Door(Door):
    """The simulation's station for ROS 2, and a participant that sees who subscribes."""

    control: ClassVar[bool] = True
    options: ClassVar[Mapping[str, Any]] = {
        "ros2": True,
        "ros2_mavros": True,
        "ros2_truth": False,
        "ros2_address": "127.0.0.1",
    }

    def check(self) -> None:
        """Refuses a machine without DDS.

        Raises:
            ChallengeError: It has none.
        """
        try:
            import cyclonedds  # noqa: F401
        except ImportError as error:
            raise ChallengeError(extras.lacking("ROS 2", error, "ros2")) from error

    def scenario(self, scenario: Scenario) -> Scenario:
        """With a domain of its own."""
        domain: Any = {"ros2_domain": _FIRST_DOMAIN + scenario.instance}  # a declared option
        return dataclasses.replace(super().scenario(scenario), **domain)

    def open(self, simulation: Any, processes: Processes, folder: Path) -> None:
        """Opens the station, then closes the control socket to others."""
        from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsSubscription

        from xtdrone_ros2.wire.node import Node
        from xtdrone_ros2.wire.types import Types

        scenario, requests = simulation.scenario, simulation.requests
        open_stations(simulation)
        await_servers(simulation, lambda: requests.server.has_subscriber, "its log")
        requests.server.admit_no_more()
        self._node = Node(Types(), "/challenge_judge", scenario.ros2_domain, scenario.ros2_address)
        self._reader = BuiltinDataReader(self._node.participant, BuiltinTopicDcpsSubscription)

    def environment(self, scenario: Scenario) -> dict[str, str]:
        """The domain."""
        return {"ROS_DOMAIN_ID": str(scenario.ros2_domain), "PYTHONUNBUFFERED": "1"}

    def forbidden(self) -> str:
        """Sees who has subscribed to what."""
        topics = [sample.topic_name.removeprefix(_PREFIX) for sample in self._reader.take(N=1000)]
        return against_the_rules(dict.fromkeys(topics, "a node"))

    def close(self) -> None:
        """Leaves the domain."""
        if "_node" in vars(self):
            self._node.close()


DOOR = Ros2Door
