"""Sensor readings of the current step."""

from dataclasses import dataclass

from xtdrone_core.state import SensorBatch


@dataclass
class Readings:
    """Holds the sensor readings of the current step, for parts that read them at any time."""

    sensors: SensorBatch
