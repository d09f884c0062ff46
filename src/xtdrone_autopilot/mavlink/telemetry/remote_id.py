"""Remote identification: OPEN_DRONE_ID_LOCATION, OPEN_DRONE_ID_SYSTEM."""

import calendar
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from xtdrone_core.frames import enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.earth.atmosphere import height_of_pressure
from xtdrone_dynamics.earth.geodesy import to_geodetic_array
from xtdrone_dynamics.earth.geoid import geoid_height

from ...state.handlers import streams

_EPOCH_S = calendar.timegm((2019, 1, 1, 0, 0, 0))  # epoch of the system message [s of Unix time]
# Bounds of an accuracy [m, m/s] -> its class, 0 = worse.
_HORIZONTAL = ((1.0, 12), (3.0, 11), (10.0, 10), (30.0, 9))
_VERTICAL = ((1.0, 6), (3.0, 5), (10.0, 4), (25.0, 3), (45.0, 2), (150.0, 1))
_SPEED_0_3, _TIME_1_S = 4, 10  # classes: better than 0.3 m/s, than 1 s
_UNKNOWN_HEIGHT, _UNKNOWN_COURSE = -1000.0, 36100


def _has_fix(part: "RemoteIdStreams") -> np.ndarray:
    return part.readings.sensors.gps_fix >= 3


def _has_home(part: "RemoteIdStreams") -> np.ndarray:
    return part.status["home_set"]


class RemoteIdStreams:
    """Fills the messages of remote identification.

    Attributes:
        status: (N,) of VEHICLE_STATUS.
        readings: Those of the current step.
    """

    def __init__(self, reported: Any) -> None:  # a Reported, whose module imports this one
        """reported: a Reported of streams.py."""
        self.status, self.readings = reported.status, reported.readings
        self._failsafes, self._estimator = reported.failsafes, reported.estimator
        self._origin = reported.origin
        self._geoid = geoid_height(*self._origin[:2])

    @streams("OPEN_DRONE_ID_LOCATION", ground_station=1, offboard=1, bridge=False, where=_has_fix)
    def _location(self, message: np.ndarray, t_us: int) -> None:
        sensors, status = self.readings.sensors, self.status
        message["status"] = np.where(
            status["landed"], mavlink.MAV_ODID_STATUS_GROUND, mavlink.MAV_ODID_STATUS_AIRBORNE
        )
        message["status"][status["armed"] & self._failsafes.active()] = (
            mavlink.MAV_ODID_STATUS_EMERGENCY
        )
        vel = enu_ned(sensors.gps_vel)
        message["direction"] = 100 * (np.rint(np.degrees(np.arctan2(vel[:, 1], vel[:, 0]))) % 360)
        message["speed_horizontal"] = np.minimum(100 * np.hypot(vel[:, 0], vel[:, 1]), 25425)
        message["speed_vertical"] = np.clip(np.rint(-100 * vel[:, 2]), -6200, 6200)
        message["latitude"] = np.rint(np.degrees(sensors.gps_lat) * 1e7)
        message["longitude"] = np.rint(np.degrees(sensors.gps_lon) * 1e7)
        message["altitude_barometric"] = [
            height_of_pressure(status) for status in sensors.baro_pressure
        ]
        message["altitude_geodetic"] = np.rint(sensors.gps_alt)
        message["height"] = np.where(
            status["home_set"], self._estimator.pos[:, 2] - status["home"][:, 2], _UNKNOWN_HEIGHT
        )
        message["horizontal_accuracy"] = _class_of(sensors.gps_eph, _HORIZONTAL)
        message["vertical_accuracy"] = _class_of(sensors.gps_epv, _VERTICAL)
        message["barometer_accuracy"], message["speed_accuracy"] = 1, _SPEED_0_3
        message["timestamp"] = sensors.gps_t_us // 1000 % 3_600_000 * 1e-3
        message["timestamp_accuracy"] = _TIME_1_S

    @streams("OPEN_DRONE_ID_SYSTEM", ground_station=1, offboard=1, bridge=False, where=_has_home)
    def _system(self, message: np.ndarray, t_us: int) -> None:
        geo = to_geodetic_array(self.status["home"], *self._origin)
        message["operator_latitude"] = np.rint(np.degrees(geo[:, 0]) * 1e7)
        message["operator_longitude"] = np.rint(np.degrees(geo[:, 1]) * 1e7)
        message["operator_altitude_geo"] = geo[:, 2] + self._geoid
        message["area_count"], message["area_ceiling"], message["area_floor"] = (
            1,
            _UNKNOWN_HEIGHT,
            _UNKNOWN_HEIGHT,
        )
        message["timestamp"] = int(time.time()) - _EPOCH_S


def _class_of(accuracy: np.ndarray, bounds: Sequence[tuple[float, int]]) -> np.ndarray:
    """(N,) the class of the first bound that an accuracy (N,) is below, 0 = none."""
    return np.select([accuracy < bound for bound, _ in bounds], [kind for _, kind in bounds], 0)
