"""Sensors: their parameters, and what they say of a true state."""

from .errors import SensorError
from .parameters import (
                         AirspeedParameters,
                         BarometerParameters,
                         GpsParameters,
                         ImuParameters,
                         MagnetometerParameters,
                         NoiseParameters,
                         RangeParameters,
)
from .suite import STEP_US, SensorSuite

__all__ = ["STEP_US", "AirspeedParameters", "BarometerParameters", "GpsParameters",
           "ImuParameters", "MagnetometerParameters", "NoiseParameters", "RangeParameters",
           "SensorError", "SensorSuite"]
