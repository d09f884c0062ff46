"""The step of the flight stack that is under way: what its parts share beside the fleet."""

from dataclasses import dataclass

from xtdrone_core.state import SensorBatch


@dataclass
class Now:
    """Time and readings of the present step."""

    sensors: SensorBatch  # the readings
    t_us: int = 0  # simulated time [us]
