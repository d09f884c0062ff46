"""Clients of MAVLink: the off-board links of the flight stacks, which carry no true states."""

from typing import Any

from xtdrone_core import Scenario
from xtdrone_core.runs.ports import Ports

from .door import Door


class MavlinkDoor(Door):
    """A link for each vehicle of the team, and no others."""

    def told(self, scenario: Scenario) -> dict[str, Any]:
        """The addresses, as pymavlink, MAVSDK and MAVProxy take them."""
        ports = Ports(scenario.instance)
        return {"mavlink": [f"udpin:127.0.0.1:{ports.offboard(i)}" for i in range(scenario.n)]}


DOOR = MavlinkDoor
