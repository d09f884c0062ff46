"""Messages from simulator to PX4: HIL_SENSOR, HIL_GPS, DISTANCE_SENSOR, HIL_STATE_QUATERNION."""

from collections.abc import Sequence

import numpy as np

from xtdrone_autopilot.mavlink.frames import GAUSS, append_frames, layout
from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.ports import Ports
from xtdrone_core.state import FleetState, SensorBatch
from xtdrone_dynamics.constants import GRAVITY
from xtdrone_dynamics.earth.geodesy import to_geodetic_array

# Bits of HIL_SENSOR.fields_updated. PX4 takes a barometer reading only with all three of its bits.
IMU, MAGNETOMETER, BAROMETER = 0x3F, 0x1C0, 0x1A00
DIFFERENTIAL_PRESSURE = 0x400
TRUTH_PERIOD_US = (
    8000  # period of HIL_STATE_QUATERNION [us]; PX4 requests 5000, no multiple of a step
)
_BUFFER = 512  # room for the messages of one vehicle in one step [bytes]
_MAX_INT16, _MAX_UINT16 = 32767, 65535


class SensorFrames:
    """Packs the MAVLink messages of one step, for all vehicles at once."""

    def __init__(self, n: int, origin: Sequence[float], own: Ports | None = None):
        """n: Number of vehicles; origin: latitude, longitude [rad] and height [m] of the world.

        own: Ports of the simulation, for the system ids; None = the environment's instance.
        """
        own = own or Ports()
        self._systems = np.array([own.system_id(i) for i in range(n)], dtype=np.uint8)
        self._origin = tuple(origin)
        self._layouts = {
            name: layout(name)
            for name in ("HIL_SENSOR", "HIL_GPS", "DISTANCE_SENSOR", "HIL_STATE_QUATERNION")
        }
        self._tables = {name: np.zeros(n, dtype=item.dtype) for name, item in self._layouts.items()}
        self._bytes = {
            name: table.view(np.uint8).reshape(n, -1) for name, table in self._tables.items()
        }
        self._sequence = np.zeros(n, dtype=np.uint8)
        self._out = np.zeros((n, _BUFFER), dtype=np.uint8)
        self._length = np.zeros(n, dtype=np.int64)

    def encode(
        self, t_us: int, sensors: SensorBatch, truth: FleetState | None, chosen: np.ndarray
    ) -> list[bytes]:
        """The messages to each chosen vehicle in one step; HIL_SENSOR, PX4's clock, comes first.

        Args:
            t_us: Simulated time [us].
            sensors: The readings at that time.
            truth: The true state, for PX4's ground-truth topics only; None leaves it out.
            chosen: (N,) bool.

        Returns:
            N byte strings; empty where not chosen.
        """
        self._length.fill(0)
        self._sensor(self._tables["HIL_SENSOR"], t_us, sensors)
        self._append("HIL_SENSOR", chosen)
        fixes = chosen & sensors.gps_new
        if fixes.any():
            self._gps(self._tables["HIL_GPS"], sensors)
            self._append("HIL_GPS", fixes)
        ranges = chosen & sensors.range_new
        if ranges.any():
            self._range(self._tables["DISTANCE_SENSOR"], t_us, sensors)
            self._append("DISTANCE_SENSOR", ranges)
        if truth is not None and t_us % TRUTH_PERIOD_US == 0:
            self._truth(self._tables["HIL_STATE_QUATERNION"], t_us, truth)
            self._append("HIL_STATE_QUATERNION", chosen)
        return [row[:length].tobytes() for row, length in zip(self._out, self._length)]

    def _append(self, name: str, chosen: np.ndarray) -> None:
        item = self._layouts[name]
        append_frames(
            self._bytes[name],
            item.id,
            item.crc_extra,
            chosen,
            self._systems,
            self._sequence,
            self._out,
            self._length,
        )

    def _sensor(self, message: np.ndarray, t_us: int, sensors: SensorBatch) -> None:
        message["time_usec"] = t_us
        message["xacc"], message["yacc"], message["zacc"] = flu_frd(sensors.accel).T
        message["xgyro"], message["ygyro"], message["zgyro"] = flu_frd(sensors.gyro).T
        message["xmag"], message["ymag"], message["zmag"] = flu_frd(sensors.mag).T * GAUSS
        message["abs_pressure"] = sensors.baro_pressure * 1e-2
        message["temperature"] = sensors.baro_temperature - 273.15
        message["diff_pressure"] = sensors.airspeed_pressure * 1e-2
        message["pressure_alt"] = 44330.77 * (1.0 - (sensors.baro_pressure / 101325.0) ** 0.190263)
        message["fields_updated"] = (
            IMU
            + MAGNETOMETER * sensors.mag_new.astype(np.uint32)
            + BAROMETER * sensors.baro_new.astype(np.uint32)
            + DIFFERENTIAL_PRESSURE * sensors.airspeed_new.astype(np.uint32)
        )

    def _gps(self, message: np.ndarray, sensors: SensorBatch) -> None:
        message["time_usec"] = sensors.gps_t_us
        message["fix_type"] = sensors.gps_fix
        message["lat"], message["lon"] = (
            np.rint(np.degrees(x) * 1e7) for x in (sensors.gps_lat, sensors.gps_lon)
        )
        message["alt"] = np.rint(sensors.gps_alt * 1e3)
        message["eph"], message["epv"] = (
            np.rint(sensors.gps_eph * 100),
            np.rint(sensors.gps_epv * 100),
        )
        north, east, down = np.rint(enu_ned(sensors.gps_vel).T * 100)
        message["vn"], message["ve"], message["vd"] = (
            np.clip(x, -_MAX_INT16, _MAX_INT16) for x in (north, east, down)
        )
        message["vel"] = np.minimum(np.hypot(north, east), 65535)
        message["cog"] = np.rint(np.degrees(np.arctan2(east, north)) % 360.0 * 100) % 36000
        message["satellites_visible"] = sensors.gps_sats

    def _range(self, message: np.ndarray, t_us: int, sensors: SensorBatch) -> None:
        message["time_boot_ms"] = t_us // 1000 & 0xFFFFFFFF
        message["max_distance"] = _MAX_UINT16 - 1  # PX4 rejects readings beyond it [cm]
        message["current_distance"] = np.rint(np.clip(100 * sensors.range_distance, 0, _MAX_UINT16))
        message["type"] = mavlink.MAV_DISTANCE_SENSOR_LASER
        message["id"] = 0
        message["orientation"] = mavlink.MAV_SENSOR_ROTATION_PITCH_270  # downwards
        message["covariance"] = 255  # unknown
        message["signal_quality"] = np.where(
            np.isfinite(sensors.range_distance), 100, 1
        )  # 1 = invalid

    def _truth(self, message: np.ndarray, t_us: int, state: FleetState) -> None:
        message["time_usec"] = t_us
        message["attitude_quaternion"] = quat_enu_ned(state.quat)[:, [3, 0, 1, 2]]
        message["rollspeed"], message["pitchspeed"], message["yawspeed"] = flu_frd(state.ang_vel).T
        place = to_geodetic_array(state.pos, *self._origin)
        message["lat"], message["lon"] = np.rint(np.degrees(place[:, :2]) * 1e7).T
        message["alt"] = np.rint(place[:, 2] * 1e3)
        north, east, down = np.rint(enu_ned(state.vel).T * 100)
        message["vx"], message["vy"], message["vz"] = (
            np.clip(x, -_MAX_INT16, _MAX_INT16) for x in (north, east, down)
        )
        message["true_airspeed"] = message["ind_airspeed"] = np.minimum(
            np.linalg.norm(state.vel, axis=1) * 100, 65535
        )
        force = enu_ned(state.acc) - (0.0, 0.0, GRAVITY)
        message["xacc"], message["yacc"], message["zacc"] = np.clip(
            np.rint(_to_body(state.quat, force).T / GRAVITY * 1000), -_MAX_INT16, _MAX_INT16
        )


def _to_body(quat: np.ndarray, force_ned: np.ndarray) -> np.ndarray:
    """Rotates vectors (N, 3) from NED to body FRD; quat is the attitude, body FLU to ENU."""
    x, y, z, w = quat_enu_ned(quat).T
    q = np.stack([x, y, z], axis=1)
    twice = 2.0 * np.cross(q, force_ned)
    return force_ned - w[:, None] * twice + np.cross(q, twice)
