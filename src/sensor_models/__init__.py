"""Sensor models: parameters, and readings of a true state."""

from typing import TYPE_CHECKING

from xtdrone_core.lazy import lazy_exports

if TYPE_CHECKING:
    from .errors import SensorError as SensorError
    from .measured.airspeed import AirspeedParameters as AirspeedParameters
    from .measured.barometer import BarometerParameters as BarometerParameters
    from .measured.gps import GpsParameters as GpsParameters
    from .measured.imu import ImuParameters as ImuParameters
    from .measured.magnetometer import MagnetometerParameters as MagnetometerParameters
    from .measured.range_finder import RangeParameters as RangeParameters
    from .noise import NoiseParameters as NoiseParameters
    from .sensor import STEP_US as STEP_US, Sensor as Sensor, sensors as sensors
    from .suite import SensorSuite as SensorSuite

_EXPORTS = {
    "STEP_US": ".sensor:STEP_US",
    "AirspeedParameters": ".measured.airspeed:AirspeedParameters",
    "BarometerParameters": ".measured.barometer:BarometerParameters",
    "GpsParameters": ".measured.gps:GpsParameters",
    "ImuParameters": ".measured.imu:ImuParameters",
    "MagnetometerParameters": ".measured.magnetometer:MagnetometerParameters",
    "NoiseParameters": ".noise:NoiseParameters",
    "RangeParameters": ".measured.range_finder:RangeParameters",
    "Sensor": ".sensor:Sensor",
    "SensorError": ".errors:SensorError",
    "SensorSuite": ".suite:SensorSuite",
    "sensors": ".sensor:sensors",
}
__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
