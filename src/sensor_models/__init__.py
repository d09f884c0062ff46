"""Sensor models: parameters, and readings of a true state."""

from .errors import SensorError
from .measured.airspeed import AirspeedParameters
from .measured.barometer import BarometerParameters
from .measured.gps import GpsParameters
from .measured.imu import ImuParameters
from .measured.magnetometer import MagnetometerParameters
from .measured.range_finder import RangeParameters
from .noise import NoiseParameters
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
