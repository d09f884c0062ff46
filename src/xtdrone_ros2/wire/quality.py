"""Qualities of service, as ROS 2 names them."""

from dataclasses import dataclass

from cyclonedds.core import Policy, Qos

_BLOCK_NS = 1_000_000  # maximum time that a slow subscriber blocks the others [ns]


@dataclass(frozen=True)
class Quality:
    """A quality of service, as ROS 2 names it."""

    reliable: bool
    depth: int
    latched: bool = False  # "transient local": late subscribers get the last messages

    def policies(self) -> Qos:
        """Returns the QoS policies of DDS."""
        return Qos(
            Policy.Reliability.Reliable(_BLOCK_NS)
            if self.reliable
            else Policy.Reliability.BestEffort,
            Policy.Durability.TransientLocal if self.latched else Policy.Durability.Volatile,
            Policy.History.KeepLast(self.depth),
            Policy.DataRepresentation(use_cdrv0_representation=True),
        )


# rclpy's profiles sensor_data and default; tf's broadcasters'; PX4's uXRCE client's.
SENSOR = Quality(False, 5)
DEFAULT = Quality(True, 10)
LATCHED = Quality(True, 1, latched=True)
TF = Quality(True, 100)
CLOCK = Quality(False, 1)
PARAMETER_EVENTS = Quality(True, 1000)
PX4_OUT = Quality(False, 1, latched=True)
INPUT = Quality(False, 10)
MAVROS_LATCHED = Quality(True, 10, latched=True)
