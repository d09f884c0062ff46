"""ROS 2 as a station of a scenario."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtdrone_core.contracts import Observer
from xtdrone_core.scenario.declared import FleetSettings
from xtdrone_core.scenario.options import check_address, number, option
from xtdrone_core.stations import Station, check_commands

if TYPE_CHECKING:  # slow to import
    from xtdrone_sim.simulation import Simulation

_DOMAIN, MAX_DOMAIN = "ROS_DOMAIN_ID", 232  # DDS has ports for no more


def ros_domain() -> int:
    """Returns ROS_DOMAIN_ID of the environment, else 0."""
    domain: int = number(_DOMAIN, os.environ.get(_DOMAIN, "") or 0, 0, MAX_DOMAIN, whole=True)
    return domain


@dataclass(frozen=True)
class Ros2(Station):
    """The fleet's topics and services in ROS 2."""

    COMMANDS = True
    AWAITED = True

    ros2: bool = option(
        False,
        "offer the fleet's topics to ROS 2 over DDS; needs pip install "
        "'xtdrone[ros2]', and no ROS 2",
        affects_flight=False,
    )
    ros2_domain: int = option(
        default_factory=ros_domain,
        help="ROS_DOMAIN_ID of those topics",
        minimum=0,
        maximum=MAX_DOMAIN,
        unset=f"{_DOMAIN} of the environment, or 0",
        affects_flight=False,
    )
    ros2_address: str = option(
        "127.0.0.1",
        "IPv4 address of this machine's interface for them: "
        "whoever is in its network can then command",
        metavar="ADDRESS",
        affects_flight=False,
    )
    ros2_rate: float = option(
        50.0,
        "rate of true states and tf for ROS 2",
        unit="Hz",
        minimum=1.0,
        maximum=250.0,
        affects_flight=False,
    )
    ros2_truth: bool = option(
        True,
        "also true states and tf, and services that steer the simulation",
        affects_flight=False,
    )
    ros2_mavros: bool = option(
        False,
        "also MAVROS's topics for ROS 2, as the bridge of ROS 1 has them",
        affects_flight=False,
    )
    ros2_record: str = option(
        "none",
        "record a bag of rosbag2 into the run folder, in this format",
        choices=("none", "mcap", "sqlite3"),
        affects_flight=False,
    )
    ros2_topics: str = option(
        r"/clock|/tf|/tf_static|/drone\d+/.*|.*/fmu/.*|(/[^/]+)?/mavros/.*",
        "regular expression of what is recorded; others, such as images, must be named",
        metavar="REGEX",
        affects_flight=False,
    )
    ros2_distribution: str = option(
        "humble",
        "distribution of ROS 2 whose nodes listen; jazzy also for later ones",
        choices=("humble", "jazzy"),
        affects_flight=False,
    )

    @property
    def wanted(self) -> bool:
        """Whether the scenario asks for it."""
        return self.ros2

    def check(self, fleet: FleetSettings) -> None:
        """Refuses an address that is none, and a fleet that ROS 2 cannot command."""
        check_address("ros2_address", self.ros2_address)
        if self.ros2:
            check_commands("ros2", fleet)

    def open(self, simulation: "Simulation") -> Observer:
        """Joins the domain, and says so."""
        from .station import Ros2Station

        station = Ros2Station(simulation)
        print(f"ROS 2: domain {self.ros2_domain} on {self.ros2_address}", flush=True)
        return station
