"""Sensor models: parameters, and readings of a true state."""

from .airspeed import AirspeedParameters
from .barometer import BarometerParameters
from .errors import SensorError
from .gps import GpsParameters
from .imu import ImuParameters
from .magnetometer import MagnetometerParameters
from .noise import NoiseParameters
from .range_finder import RangeParameters
from .sensor import STEP_US, Sensor, sensors
from .suite import SensorSuite

__all__ = [
    "STEP_US",
    "AirspeedParameters",
    "BarometerParameters",
    "GpsParameters",
    "ImuParameters",
    "MagnetometerParameters",
    "NoiseParameters",
    "RangeParameters",
    "Sensor",
    "SensorError",
    "SensorSuite",
    "sensors",
]
