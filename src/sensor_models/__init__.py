"""Sensors: their parameters, and what they say of a true state."""

from .errors import SensorError
from .parameters import (BarometerParameters, GpsParameters, ImuParameters,
                         MagnetometerParameters, NoiseParameters)
from .suite import STEP_US, SensorSuite

__all__ = ["STEP_US", "BarometerParameters", "GpsParameters", "ImuParameters",
           "MagnetometerParameters", "NoiseParameters", "SensorError", "SensorSuite"]
