"""Telemetry streams: the fleet's state as MAVLink 2 frames, encoded for all vehicles at once.

A message is a structured array over the fleet, laid out as on the wire; its
columns are filled with NumPy, and one compiled pass frames the rows of those
vehicles that are due. Frames of one vehicle and link travel together.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from xtdrone_core.frames import enu_ned, flu_frd, yaw_enu_ned
from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import MODES, Mode
from xtdrone_core.state import SensorBatch
from xtdrone_dynamics.abilities.vehicle_type import HALF_WINGED, TAILSITTER
from xtdrone_dynamics.compiled import Record
from xtdrone_dynamics.earth.atmosphere import density
from xtdrone_dynamics.earth.geodesy import to_geodetic_array
from xtdrone_dynamics.earth.geoid import geoid_height
from xtdrone_dynamics.quaternion import rotate_inverse_array

from ..estimation.status import fleet_solution_status
from ..gimbal.manager import GimbalManager
from ..gimbal.mount import Mount
from ..interfaces import Estimator
from ..navigation.mission import REPEAT_US, Missions
from ..parameters.store import ParameterStore
from ..safety.battery import Battery
from ..safety.failsafes import Failsafes
from ..state.clock import StepClock
from ..state.estimator_flags import BARO_USED, GPS_USED, MAG_USED, POSITION_VALID
from ..state.events import Events
from ..state.handlers import Stream, declarations, declared, streams
from ..state.local_origin import LocalOrigins
from ..state.readings import Readings
from ..state.vehicle_status import ON_WINGS, TARGET_LAND, TARGET_TAKEOFF, thrust_normalised
from .frames import GAUSS, append_frames, layout
from .telemetry.clock import ClockStreams
from .telemetry.devices import DeviceStreams
from .telemetry.kernel import (
    MOTION,
    estimated_motion,
    fill_attitude_target,
    fill_global_position,
    fill_position_target,
)
from .telemetry.modes import BASE, CUSTOM, ModeStreams
from .telemetry.origin import OriginStreams
from .telemetry.remote_id import RemoteIdStreams

BUFFER = 4096  # room for a vehicle's frames of one tick [bytes]; default streams need 1100 at most

_PITCH_90 = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)  # wxyz
_DIAGONAL = (0, 6, 11, 15, 18, 20)  # diagonal of a 6 x 6 matrix in its upper triangle, row by row

# Classes that fill further messages.
PARTS = (ClockStreams, ModeStreams, OriginStreams, RemoteIdStreams)


@dataclass(frozen=True)
class Reported:
    """Parts of a fleet that the streams report on."""

    status: np.ndarray  # (N,) of VEHICLE_STATUS
    parameters: ParameterStore
    estimator: Estimator
    battery: Battery
    missions: Missions
    failsafes: Failsafes
    commands: np.ndarray  # (N, A) of the actuators
    clock: StepClock
    readings: Readings
    origin: tuple  # latitude, longitude [rad] and height [m] of the world's origin
    local_origins: LocalOrigins
    rotor_mask: np.ndarray  # (N, A) bool, the actuators that are rotors
    events: Events
    others: tuple  # objects that fill further messages


def _extra_streams(sensors: SensorBatch) -> Iterator[tuple[Stream, Callable[..., None]]]:
    """Stream and filler of each further kind of sensor that has a message."""
    for extra in sensors.extra.values():
        if extra.mavlink is not None:
            topic, fitted = extra.mavlink, extra.fitted
            rates = dict.fromkeys(("ground_station", "offboard", "bridge"), topic.rate)
            yield Stream(topic.name, rates, lambda _, fitted=fitted: fitted), partial(_fill, extra)


def _fill(
    extra: Any,  # ExtraReadings whose `mavlink` is not None
    message: np.ndarray,
    t_us: int,
) -> None:
    for name, (_, values) in extra.mavlink.fields.items():
        message[name] = values(extra.records, t_us)


def _has_position(status: Record) -> bool:
    return status._estimator.flags & POSITION_VALID != 0


def _has_target(status: Record) -> np.ndarray:
    """Returns whether it flies to a place of its own choice, as in the AUTO modes."""
    p = status._status
    return _AUTO[p["mode"]] & p["armed"] & np.isfinite(p["sp_pos"]).all(axis=1)


def _has_home(status: Record) -> np.ndarray:
    return status._status["home_set"]


def _has_reached(status: Record) -> np.ndarray:
    missions = status._missions
    return (missions.last_reached >= 0) & (status._clock.t_us - missions.reached_t < REPEAT_US)


def _has_wind(status: Record) -> np.ndarray:
    return np.isfinite(status._estimator.wind[:, 0])


def _has_range(status: Record) -> np.ndarray:
    distance = status._readings.sensors.range_distance  # 0 where there is no such sensor
    return np.isfinite(distance) & (distance > 0.0)


class Streams:
    """Fills and frames the telemetry messages of a fleet.

    A new message is one method that fills it, here or in a class of PARTS, marked with its name,
    the links where it streams by itself with their rates [Hz], and, where not every vehicle has
    it, who has. The rates are PX4's.
    """

    def __init__(self, reported: Reported) -> None:
        """reported: the source of the messages' values."""
        r = reported
        self._status, self._parameters, self._estimator = r.status, r.parameters, r.estimator
        self._battery, self._missions, self._failsafes = r.battery, r.missions, r.failsafes
        self._commands, self._clock, self._origin = r.commands, r.clock, r.origin
        self._readings, self._local_origins = r.readings, r.local_origins
        # One for the world: it changes by centimetres per kilometre.
        self._geoid = geoid_height(self._origin[0], self._origin[1])
        self.devices = DeviceStreams(r)
        self._tailsitters = np.flatnonzero(
            np.isin(r.status["vtol_type"], (TAILSITTER, HALF_WINGED))
        )
        parts = self, self.devices, *(kind(r) for kind in PARTS), *r.others
        found = [
            *((part, *row) for part in parts for row in declared(part, "streams")),
            *((self, *row) for row in _extra_streams(self._readings.sensors)),
        ]
        self._owners = [owner for owner, _, _ in found]
        self.streams = [stream for _, stream, _ in found]
        self.names = [stream.name for stream in self.streams]
        self.index = {name: k for k, name in enumerate(self.names)}
        self.ids: dict[float, str] = {layout(name).id: name for name in self.names}
        n = len(self._status)
        self._systems = r.parameters.values["MAV_SYS_ID"].astype(np.uint8)
        self._layouts = [layout(name) for name in self.names]
        self._arrays = [np.zeros(n, dtype=item.dtype) for item in self._layouts]
        self._bytes = [a.view(np.uint8).reshape(n, -1) for a in self._arrays]
        for name in _SERVOS:
            self._arrays[self.index["SERVO_OUTPUT_RAW"]][name] = _NO_PULSE
        self._fill = [fill for _, _, fill in found]
        self._filled_t = [-1] * len(self.names)
        self._common_t = -1
        self._motion = np.zeros(n, dtype=MOTION)
        self._ned, self._ned_vel = self._motion["ned"], self._motion["ned_vel"]
        self._frd_rate, self._home = self._motion["frd_rate"], self._motion["home"]
        self._quat, self._euler = self._motion["quat"], self._motion["euler"]
        self._geo = self._motion["geo"]
        self._gps_t_us, self._gps_came_t_us = np.zeros((2, n), dtype=np.int64)
        self._imu_due: dict[
            int, int
        ] = {}  # bits of HIGHRES_IMU.fields_updated -> when they are next set [us]

    def rates(self, link: str) -> np.ndarray:
        """Intervals on a link, by its name, as (M,) int64 [us]; 0 = not streamed."""
        out = np.zeros(len(self.names), dtype=np.int64)
        for k, stream in enumerate(self.streams):
            if link in stream.rates:
                out[k] = round(1e6 / stream.rates[link])
        return out

    def changed(self, name: str) -> None:
        """Notes that the contents of a message have changed within this step."""
        self._filled_t[self.index[name]] = -1

    def append(
        self,
        k: int,
        t_us: int,
        chosen: np.ndarray,
        sequence: np.ndarray,
        out: np.ndarray,
        length: np.ndarray,
    ) -> None:
        """Frames message k of the chosen vehicles behind what out (N, BUFFER) already holds."""
        self._compute_common(t_us)
        stream, owner, item = self.streams[k], self._owners[k], self._layouts[k]
        for batch in range(stream.batches):
            there = chosen & stream.where(owner, batch)
            if there.any():
                self._fill[k](self._arrays[k], t_us, batch)
                append_frames(
                    self._bytes[k],
                    item.id,
                    item.crc_extra,
                    there,
                    self._systems,
                    sequence,
                    out,
                    length,
                )
        if stream.batches:
            return
        if self._filled_t[k] != t_us:
            self._fill[k](self._arrays[k], t_us)
            self._filled_t[k] = t_us
        if stream.where is not None:
            chosen = chosen & stream.where(owner)
        append_frames(
            self._bytes[k], item.id, item.crc_extra, chosen, self._systems, sequence, out, length
        )

    def _compute_common(self, t_us: int) -> None:
        """Computes once for each tick what several messages need."""
        if self._common_t == t_us:
            return
        self._common_t = t_us
        self.devices.watch()
        estimator = self._estimator
        self._ms = t_us // 1000
        estimated_motion(
            estimator.pos,
            estimator.vel,
            estimator.quat,
            estimator.ang_vel,
            self._status,
            self._origin,
            self._motion,
        )
        for local in (self._ned, self._home):
            self._local_origins.make_local(local)

    @streams("HEARTBEAT", ground_station=1, offboard=1)
    def _heartbeat(self, message: np.ndarray, t_us: int) -> None:
        status = self._status
        message["type"] = self._parameters.values["MAV_TYPE"]
        message["autopilot"] = mavlink.MAV_AUTOPILOT_PX4
        message["custom_mode"] = CUSTOM[status["nav_state"]]
        message["base_mode"] = BASE[status["nav_state"]] | np.where(status["armed"], 128, 0).astype(
            np.uint8
        )
        message["system_status"] = np.where(
            status["home_set"], mavlink.MAV_STATE_STANDBY, mavlink.MAV_STATE_BOOT
        )
        message["system_status"][status["armed"]] = mavlink.MAV_STATE_ACTIVE
        message["system_status"][self._failsafes.active()] = mavlink.MAV_STATE_CRITICAL
        message["mavlink_version"] = 3

    @streams("ATTITUDE", ground_station=50, offboard=100, bridge=False)
    def _attitude(self, message: np.ndarray, t_us: int) -> None:
        message["time_boot_ms"] = self._ms
        message["roll"], message["pitch"], message["yaw"] = self._euler.T
        message["rollspeed"], message["pitchspeed"], message["yawspeed"] = self._frd_rate.T

    @streams("ATTITUDE_QUATERNION", ground_station=50, offboard=50)
    def _attitude_quaternion(self, message: np.ndarray, t_us: int) -> None:
        message["time_boot_ms"] = self._ms
        message["q1"], message["q2"], message["q3"], message["q4"] = self._quat.T
        message["rollspeed"], message["pitchspeed"], message["yawspeed"] = self._frd_rate.T
        rows = self._tailsitters
        if len(rows):  # displays turn one that is on its wings by this
            forwards = self._status["vtol_state"][rows] == ON_WINGS
            message["repr_offset_q"][rows] = np.where(forwards[:, None], _PITCH_90, 0.0)

    @streams("ATTITUDE_TARGET", ground_station=50, offboard=10)
    def _attitude_target(self, message: np.ndarray, t_us: int) -> None:
        fill_attitude_target(self._status, self._ms, message)

    @streams("LOCAL_POSITION_NED", ground_station=50, offboard=30, where=_has_position)
    def _local_position_ned(self, message: np.ndarray, t_us: int) -> None:
        message["time_boot_ms"] = self._ms
        message["x"], message["y"], message["z"] = self._ned.T
        message["vx"], message["vy"], message["vz"] = self._ned_vel.T

    @streams("GLOBAL_POSITION_INT", ground_station=50, offboard=50, where=_has_position)
    def _global_position_int(self, message: np.ndarray, t_us: int) -> None:
        fill_global_position(self._motion, self._ms, message)

    @streams("POSITION_TARGET_LOCAL_NED", ground_station=50, offboard=10)
    def _position_target_local_ned(self, message: np.ndarray, t_us: int) -> None:
        fill_position_target(
            self._status, self._motion, self._ms, mavlink.MAV_FRAME_LOCAL_NED, message
        )
        if self._local_origins.moved.any():
            ned = np.stack([message["x"], message["y"], message["z"]], axis=1).astype(np.float64)
            self._local_origins.make_local(ned)
            message["x"], message["y"], message["z"] = ned.T

    @streams("POSITION_TARGET_GLOBAL_INT", ground_station=1, offboard=10, where=_has_target)
    def _position_target_global_int(self, message: np.ndarray, t_us: int) -> None:
        status = self._status
        message["time_boot_ms"] = self._ms
        message["coordinate_frame"] = mavlink.MAV_FRAME_GLOBAL_INT
        geo = to_geodetic_array(np.nan_to_num(status["sp_pos"]), *self._origin)
        message["lat_int"] = np.rint(np.degrees(geo[:, 0]) * 1e7)
        message["lon_int"] = np.rint(np.degrees(geo[:, 1]) * 1e7)
        message["alt"] = geo[:, 2]
        ned = enu_ned(np.stack((status["sp_vel"], status["sp_acc"]), axis=1)).reshape(-1, 6)
        (
            message["vx"],
            message["vy"],
            message["vz"],
            message["afx"],
            message["afy"],
            message["afz"],
        ) = ned.T
        # Where the set-point leaves the yaw open, PX4 holds it.
        message["yaw"] = np.where(
            np.isfinite(status["sp_yaw"]), yaw_enu_ned(status["sp_yaw"]), self._euler[:, 2]
        )
        message["yaw_rate"] = -np.nan_to_num(status["sp_yaw_rate"])

    @streams("SERVO_OUTPUT_RAW", ground_station=50, offboard=10)
    def _servo_output_raw(self, message: np.ndarray, t_us: int) -> None:
        message["time_usec"] = t_us & 0xFFFFFFFF
        pulses = np.where(self._status["armed"], 1000 + 1000 * self._commands.T, _NO_PULSE)
        for name, pulse in zip(_SERVOS, pulses, strict=False):  # the others keep _NO_PULSE
            message[name] = pulse

    @streams("GPS_RAW_INT", ground_station=5, offboard=10)
    def _gps_raw_int(self, message: np.ndarray, t_us: int) -> None:
        sensors = self._readings.sensors
        came = sensors.gps_t_us != self._gps_t_us
        self._gps_t_us[came] = sensors.gps_t_us[came]
        self._gps_came_t_us[came] = t_us
        message["time_usec"] = self._gps_came_t_us
        message["fix_type"] = sensors.gps_fix
        message["lat"] = np.rint(np.degrees(sensors.gps_lat) * 1e7)
        message["lon"] = np.rint(np.degrees(sensors.gps_lon) * 1e7)
        message["alt"] = np.rint(sensors.gps_alt * 1e3)
        message["alt_ellipsoid"] = np.rint((sensors.gps_alt + self._geoid) * 1e3)
        speed = np.hypot(sensors.gps_vel[:, 0], sensors.gps_vel[:, 1])
        message["vel"] = np.minimum(speed * 100, 65535)
        course = np.degrees(np.arctan2(sensors.gps_vel[:, 0], sensors.gps_vel[:, 1])) % 360.0
        message["cog"] = np.rint(course * 100) % 36000
        message["satellites_visible"] = sensors.gps_sats
        # Of a simulator PX4 gets centimetres and neither dilution nor accuracy of the velocity.
        message["h_acc"], message["v_acc"] = (
            np.rint(x * 100).astype(np.float32) * _CENTIMETRE * _MILLI
            for x in (sensors.gps_eph, sensors.gps_epv)
        )
        message["vel_acc"] = 250

    @streams("HIGHRES_IMU", offboard=50)
    def _highres_imu(self, message: np.ndarray, t_us: int) -> None:
        sensors = self._readings.sensors
        message["time_usec"] = t_us
        message["xacc"], message["yacc"], message["zacc"] = flu_frd(sensors.accel).T
        message["xgyro"], message["ygyro"], message["zgyro"] = flu_frd(sensors.gyro).T
        message["xmag"], message["ymag"], message["zmag"] = flu_frd(sensors.mag).T * GAUSS
        message["abs_pressure"] = sensors.baro_pressure  # PX4 sends Pa here, not MAVLink's hPa
        message["diff_pressure"] = sensors.airspeed_pressure
        message["pressure_alt"] = self._geo[:, 2]
        message["temperature"] = sensors.baro_temperature - 273.15
        new = _NEW_IMU
        for bits, period in _SLOWER.items():
            left = self._imu_due.get(bits, t_us) - t_us
            if not 0 < left <= period:
                self._imu_due[bits] = t_us + period + max(left, -period // 2)
                new |= bits
        message["fields_updated"] = new | np.where(
            sensors.airspeed_pressure != 0.0, _NEW_AIRSPEED, 0
        )

    @streams("SCALED_PRESSURE", ground_station=1, offboard=1, bridge=False)
    def _scaled_pressure(self, message: np.ndarray, t_us: int) -> None:
        sensors = self._readings.sensors
        message["time_boot_ms"] = self._ms
        message["press_abs"] = sensors.baro_pressure * 1e-2
        message["temperature"] = (sensors.baro_temperature - 273.15) * 100

    @streams("VFR_HUD", ground_station=4, offboard=10)
    def _vfr_hud(self, message: np.ndarray, t_us: int) -> None:
        status = self._status
        message["groundspeed"] = np.hypot(self._ned_vel[:, 0], self._ned_vel[:, 1])
        # Calibrated, as PX4's; without a pitot tube PX4 says 0.
        pressure = np.maximum(self._readings.sensors.airspeed_pressure, 0.0)
        message["airspeed"] = np.sqrt(2.0 * pressure / density(0.0))
        message["heading"] = np.degrees(self._euler[:, 2]) % 360.0
        message["throttle"] = np.where(status["armed"], 100 * thrust_normalised(self._status), 0)
        message["alt"] = self._geo[:, 2]
        message["climb"] = -self._ned_vel[:, 2]

    @streams("ALTITUDE", ground_station=1, offboard=10)
    def _altitude(self, message: np.ndarray, t_us: int) -> None:
        message["time_usec"] = t_us
        message["altitude_monotonic"] = message["altitude_amsl"] = self._geo[:, 2]
        message["altitude_local"] = -self._ned[:, 2]
        message["altitude_relative"] = self._home[:, 2] - self._ned[:, 2]
        message["altitude_terrain"] = message["bottom_clearance"] = np.nan

    @streams("EXTENDED_SYS_STATE", ground_station=1, offboard=5)
    def _extended_sys_state(self, message: np.ndarray, t_us: int) -> None:
        status = self._status
        auto = _AUTO[status["mode"]]
        message["vtol_state"] = status["vtol_state"]
        message["landed_state"] = np.select(
            (
                status["landed"],
                auto & (status["target_type"] == TARGET_TAKEOFF),
                auto & (status["target_type"] == TARGET_LAND),
            ),
            (
                mavlink.MAV_LANDED_STATE_ON_GROUND,
                mavlink.MAV_LANDED_STATE_TAKEOFF,
                mavlink.MAV_LANDED_STATE_LANDING,
            ),
            mavlink.MAV_LANDED_STATE_IN_AIR,
        )

    @streams("MISSION_CURRENT", ground_station=1, offboard=1)
    def _mission_current(self, message: np.ndarray, t_us: int) -> None:
        """Leaves mission_state and mission_mode open as PX4 does, so that MAVSDK counts items."""
        missions = self._missions
        message["seq"] = missions.seq
        message["total"] = np.where(missions.total > 0, missions.total, 65535)
        for name in ("mission_id", "fence_id", "rally_points_id"):
            message[name] = missions.records[name]

    @streams("MISSION_ITEM_REACHED", ground_station=1, offboard=1, where=_has_reached)
    def _mission_item_reached(self, message: np.ndarray, t_us: int) -> None:
        message["seq"] = np.maximum(self._missions.last_reached, 0)

    @streams("SYS_STATUS", ground_station=1, offboard=5)
    def _sys_status(self, message: np.ndarray, t_us: int) -> None:
        sticks = self._clock.t_us - self._status["stick_t"] <= (
            1e6 * self._parameters.values["COM_RC_LOSS_T"]
        )
        healthy = _SENSORS | _ABSENT | np.where(self._status["ready"], _PREARM, 0)
        for bit, flag in _AID_SOURCES:
            healthy -= np.where(self._estimator.flags & flag, 0, bit)
        radio = np.where(sticks, _STICKS, 0)
        message["onboard_control_sensors_present"] = _SENSORS | radio
        message["onboard_control_sensors_enabled"] = (
            _SENSORS | _STICKS
        )  # missing sticks are a failure
        message["onboard_control_sensors_health"] = healthy | radio
        message["load"] = 250
        battery = self._battery
        message["voltage_battery"] = battery.voltage * 1e3
        message["current_battery"] = battery.current * 1e2
        message["battery_remaining"] = np.ceil(battery.level * 100)

    @streams("BATTERY_STATUS", ground_station=0.5, offboard=0.5)
    def _battery_status(self, message: np.ndarray, t_us: int) -> None:
        battery = self._battery
        message["current_consumed"] = np.nan_to_num(battery.consumed)
        message["energy_consumed"] = -1
        message["temperature"] = 32767
        message["voltages"] = 65535
        message["voltages"][:, 0] = np.minimum(
            battery.voltage * 1e3, 65534
        )  # the whole pack's, as PX4's
        message["current_battery"] = battery.current * 1e2
        message["battery_function"], message["type"] = mavlink.MAV_BATTERY_FUNCTION_ALL, 1
        message["battery_remaining"] = np.rint(battery.level * 100)
        message["charge_state"] = mavlink.MAV_BATTERY_CHARGE_STATE_OK

    @streams("ESTIMATOR_STATUS", ground_station=0.5, offboard=1)
    def _estimator_status(self, message: np.ndarray, t_us: int) -> None:
        estimator = self._estimator
        message["time_usec"] = t_us
        message["vel_ratio"], message["pos_horiz_ratio"] = (
            estimator.test_ratio("vel"),
            estimator.test_ratio("pos"),
        )
        message["pos_vert_ratio"], message["mag_ratio"] = (
            estimator.test_ratio("hgt"),
            estimator.test_ratio("mag"),
        )
        message["hagl_ratio"], message["tas_ratio"] = (
            estimator.test_ratio("range"),
            estimator.test_ratio("airspeed"),
        )
        message["pos_horiz_accuracy"] = np.hypot(estimator.pos_std[:, 0], estimator.pos_std[:, 1])
        message["pos_vert_accuracy"] = estimator.pos_std[:, 2]
        message["flags"] = fleet_solution_status(estimator.records)

    @streams("ODOMETRY", offboard=30, where=_has_position)
    def _odometry(self, message: np.ndarray, t_us: int) -> None:
        estimator = self._estimator
        message["time_usec"] = t_us
        message["frame_id"], message["child_frame_id"] = (
            mavlink.MAV_FRAME_LOCAL_NED,
            mavlink.MAV_FRAME_BODY_FRD,
        )
        message["x"], message["y"], message["z"] = self._ned.T
        message["q"] = self._quat
        message["vx"], message["vy"], message["vz"] = flu_frd(
            rotate_inverse_array(estimator.quat, estimator.vel)
        ).T
        message["rollspeed"], message["pitchspeed"], message["yawspeed"] = self._frd_rate.T
        message["pose_covariance"], message["velocity_covariance"] = np.nan, np.nan
        for k, std in enumerate(
            (*np.abs(enu_ned(estimator.pos_std)).T, *np.abs(enu_ned(estimator.att_std)).T)
        ):
            message["pose_covariance"][:, _DIAGONAL[k]] = std**2
        message["reset_counter"] = (estimator.reset_count + self._local_origins.resets) & 0xFF
        message["estimator_type"] = mavlink.MAV_ESTIMATOR_TYPE_AUTOPILOT

    @streams("WIND_COV", offboard=10, where=_has_wind)
    def _wind_cov(self, message: np.ndarray, t_us: int) -> None:
        message["time_usec"] = t_us
        message["wind_x"], message["wind_y"] = (
            self._estimator.wind[:, 1],
            self._estimator.wind[:, 0],
        )
        for name in ("var_horiz", "var_vert", "horiz_accuracy", "vert_accuracy"):
            message[name] = np.nan
        message["wind_alt"] = self._geo[:, 2]

    @streams("DISTANCE_SENSOR", offboard=10, bridge=False, where=_has_range)
    def _distance_sensor(self, message: np.ndarray, t_us: int) -> None:
        message["time_boot_ms"] = self._ms
        distance = self._readings.sensors.range_distance
        message["current_distance"] = 100 * np.clip(np.nan_to_num(distance), 0, 655)
        message["max_distance"] = 0xFFFF
        message["type"] = mavlink.MAV_DISTANCE_SENSOR_LASER
        message["orientation"] = mavlink.MAV_SENSOR_ROTATION_PITCH_270  # downwards
        message["covariance"] = 255  # not known

    @streams("HOME_POSITION", ground_station=0.5, offboard=0.5, where=_has_home)
    def _home_position(self, message: np.ndarray, t_us: int) -> None:
        geo = to_geodetic_array(self._status["home"], *self._origin)
        message["latitude"] = np.rint(np.degrees(geo[:, 0]) * 1e7)
        message["longitude"] = np.rint(np.degrees(geo[:, 1]) * 1e7)
        message["altitude"] = np.rint(geo[:, 2] * 1e3)
        message["x"], message["y"], message["z"] = self._home.T
        half = 0.5 * yaw_enu_ned(self._status["home_yaw"])
        message["q"][:, 0], message["q"][:, 3] = np.cos(half), np.sin(half)
        message["time_usec"] = t_us  # PX4 knows no approach: 0

    @streams("AUTOPILOT_VERSION")
    def _autopilot_version(self, message: np.ndarray, t_us: int) -> None:
        message["capabilities"] = _CAPABILITIES
        message["flight_sw_version"] = (
            0x010F04FF  # 1.15.4, release: the PX4 that this stack follows
        )
        message["middleware_sw_version"], message["board_version"] = message["flight_sw_version"], 1
        message["uid"] = self._systems


_AUTO = np.array([MODES[mode].px4[0] == 4 for mode in Mode])
_CENTIMETRE, _MILLI = np.float32(0.01), np.float32(1e3)
_SERVOS = tuple(f"servo{k + 1}_raw" for k in range(16))
_NO_PULSE = 900  # PX4's PWM_MAIN_DIS [us]
_NEW_IMU, _NEW_AIRSPEED = 0b111111, 1 << 10  # bits of HIGHRES_IMU.fields_updated
_SLOWER = {0b111 << 6: 88_000, 0b1101 << 9: 50_000}  # magnetometer, barometer: PX4's periods [us]
# Bits of SYS_STATUS: what PX4 reports of this fleet's sensors, and as healthy since it is absent.
_SENSORS = (
    mavlink.MAV_SYS_STATUS_SENSOR_3D_GYRO
    | mavlink.MAV_SYS_STATUS_SENSOR_3D_MAG
    | mavlink.MAV_SYS_STATUS_SENSOR_ABSOLUTE_PRESSURE
    | mavlink.MAV_SYS_STATUS_SENSOR_GPS
    | mavlink.MAV_SYS_STATUS_SENSOR_MOTOR_OUTPUTS
    | mavlink.MAV_SYS_STATUS_AHRS
    | mavlink.MAV_SYS_STATUS_SENSOR_BATTERY
)
_ABSENT = (
    mavlink.MAV_SYS_STATUS_SENSOR_3D_ACCEL
    | mavlink.MAV_SYS_STATUS_OBSTACLE_AVOIDANCE
    | mavlink.MAV_SYS_STATUS_SENSOR_DIFFERENTIAL_PRESSURE
)
_AID_SOURCES = (
    (mavlink.MAV_SYS_STATUS_SENSOR_GPS, GPS_USED),
    (mavlink.MAV_SYS_STATUS_SENSOR_3D_MAG, MAG_USED),
    (mavlink.MAV_SYS_STATUS_SENSOR_ABSOLUTE_PRESSURE, BARO_USED),
    (mavlink.MAV_SYS_STATUS_AHRS, POSITION_VALID),
)
_PREARM, _STICKS = (mavlink.MAV_SYS_STATUS_PREARM_CHECK, mavlink.MAV_SYS_STATUS_SENSOR_RC_RECEIVER)
_CAPABILITIES = (
    mavlink.MAV_PROTOCOL_CAPABILITY_PARAM_FLOAT
    | mavlink.MAV_PROTOCOL_CAPABILITY_COMMAND_INT
    | mavlink.MAV_PROTOCOL_CAPABILITY_MISSION_FLOAT
    | mavlink.MAV_PROTOCOL_CAPABILITY_MISSION_INT
    | mavlink.MAV_PROTOCOL_CAPABILITY_FTP
    | mavlink.MAV_PROTOCOL_CAPABILITY_MISSION_FENCE
    | mavlink.MAV_PROTOCOL_CAPABILITY_MISSION_RALLY
    | mavlink.MAV_PROTOCOL_CAPABILITY_FLIGHT_TERMINATION
    | mavlink.MAV_PROTOCOL_CAPABILITY_PARAM_ENCODE_BYTEWISE
    | mavlink.MAV_PROTOCOL_CAPABILITY_SET_ATTITUDE_TARGET
    | mavlink.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_LOCAL_NED
    | mavlink.MAV_PROTOCOL_CAPABILITY_MAVLINK2
)


def stream_declarations() -> list[Stream]:
    """Every message that streams, as declared."""
    return [
        stream
        for kind in (Streams, DeviceStreams, *PARTS, Mount, GimbalManager)
        for stream in declarations(kind, "streams")
    ]
