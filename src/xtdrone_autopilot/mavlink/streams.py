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
from xtdrone_dynamics.abilities.vehicle_type import TAILSITTER
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
    m: np.ndarray,
    t_us: int,
) -> None:
    for name, (_, values) in extra.mavlink.fields.items():
        m[name] = values(extra.records, t_us)


def _has_position(s: Record) -> bool:
    return s._estimator.flags & POSITION_VALID != 0


def _has_target(s: Record) -> np.ndarray:
    """Returns whether it flies to a place of its own choice, as in the AUTO modes."""
    p = s._status
    return _AUTO[p["mode"]] & p["armed"] & np.isfinite(p["sp_pos"]).all(axis=1)


def _has_home(s: Record) -> np.ndarray:
    return s._status["home_set"]


def _has_reached(s: Record) -> np.ndarray:
    missions = s._missions
    return (missions.last_reached >= 0) & (s._clock.t_us - missions.reached_t < REPEAT_US)


def _has_wind(s: Record) -> np.ndarray:
    return np.isfinite(s._estimator.wind[:, 0])


def _has_range(s: Record) -> np.ndarray:
    distance = s._readings.sensors.range_distance  # 0 where there is no such sensor
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
        self._tailsitters = np.flatnonzero(r.status["vtol_type"] == TAILSITTER)
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
        e = self._estimator
        self._ms = t_us // 1000
        estimated_motion(e.pos, e.vel, e.quat, e.ang_vel, self._status, self._origin, self._motion)
        for local in (self._ned, self._home):
            self._local_origins.make_local(local)

    @streams("HEARTBEAT", ground_station=1, offboard=1)
    def _heartbeat(self, m: np.ndarray, t_us: int) -> None:
        p = self._status
        m["type"] = self._parameters.values["MAV_TYPE"]
        m["autopilot"] = mavlink.MAV_AUTOPILOT_PX4
        m["custom_mode"] = CUSTOM[p["nav_state"]]
        m["base_mode"] = BASE[p["nav_state"]] | np.where(p["armed"], 128, 0).astype(np.uint8)
        m["system_status"] = np.where(
            p["home_set"], mavlink.MAV_STATE_STANDBY, mavlink.MAV_STATE_BOOT
        )
        m["system_status"][p["armed"]] = mavlink.MAV_STATE_ACTIVE
        m["system_status"][self._failsafes.active()] = mavlink.MAV_STATE_CRITICAL
        m["mavlink_version"] = 3

    @streams("ATTITUDE", ground_station=50, offboard=100, bridge=False)
    def _attitude(self, m: np.ndarray, t_us: int) -> None:
        m["time_boot_ms"] = self._ms
        m["roll"], m["pitch"], m["yaw"] = self._euler.T
        m["rollspeed"], m["pitchspeed"], m["yawspeed"] = self._frd_rate.T

    @streams("ATTITUDE_QUATERNION", ground_station=50, offboard=50)
    def _attitude_quaternion(self, m: np.ndarray, t_us: int) -> None:
        m["time_boot_ms"] = self._ms
        m["q1"], m["q2"], m["q3"], m["q4"] = self._quat.T
        m["rollspeed"], m["pitchspeed"], m["yawspeed"] = self._frd_rate.T
        rows = self._tailsitters
        if len(rows):  # displays turn one that is on its wings by this
            forwards = self._status["vtol_state"][rows] == ON_WINGS
            m["repr_offset_q"][rows] = np.where(forwards[:, None], _PITCH_90, 0.0)

    @streams("ATTITUDE_TARGET", ground_station=50, offboard=10)
    def _attitude_target(self, m: np.ndarray, t_us: int) -> None:
        fill_attitude_target(self._status, self._ms, m)

    @streams("LOCAL_POSITION_NED", ground_station=50, offboard=30, where=_has_position)
    def _local_position_ned(self, m: np.ndarray, t_us: int) -> None:
        m["time_boot_ms"] = self._ms
        m["x"], m["y"], m["z"] = self._ned.T
        m["vx"], m["vy"], m["vz"] = self._ned_vel.T

    @streams("GLOBAL_POSITION_INT", ground_station=50, offboard=50, where=_has_position)
    def _global_position_int(self, m: np.ndarray, t_us: int) -> None:
        fill_global_position(self._motion, self._ms, m)

    @streams("POSITION_TARGET_LOCAL_NED", ground_station=50, offboard=10)
    def _position_target_local_ned(self, m: np.ndarray, t_us: int) -> None:
        fill_position_target(self._status, self._motion, self._ms, mavlink.MAV_FRAME_LOCAL_NED, m)
        if self._local_origins.moved.any():
            ned = np.stack([m["x"], m["y"], m["z"]], axis=1).astype(np.float64)
            self._local_origins.make_local(ned)
            m["x"], m["y"], m["z"] = ned.T

    @streams("POSITION_TARGET_GLOBAL_INT", ground_station=1, offboard=10, where=_has_target)
    def _position_target_global_int(self, m: np.ndarray, t_us: int) -> None:
        p = self._status
        m["time_boot_ms"] = self._ms
        m["coordinate_frame"] = mavlink.MAV_FRAME_GLOBAL_INT
        geo = to_geodetic_array(np.nan_to_num(p["sp_pos"]), *self._origin)
        m["lat_int"] = np.rint(np.degrees(geo[:, 0]) * 1e7)
        m["lon_int"] = np.rint(np.degrees(geo[:, 1]) * 1e7)
        m["alt"] = geo[:, 2]
        ned = enu_ned(np.stack((p["sp_vel"], p["sp_acc"]), axis=1)).reshape(-1, 6)
        m["vx"], m["vy"], m["vz"], m["afx"], m["afy"], m["afz"] = ned.T
        # Where the set-point leaves the yaw open, PX4 holds it.
        m["yaw"] = np.where(np.isfinite(p["sp_yaw"]), yaw_enu_ned(p["sp_yaw"]), self._euler[:, 2])
        m["yaw_rate"] = -np.nan_to_num(p["sp_yaw_rate"])

    @streams("SERVO_OUTPUT_RAW", ground_station=50, offboard=10)
    def _servo_output_raw(self, m: np.ndarray, t_us: int) -> None:
        m["time_usec"] = t_us & 0xFFFFFFFF
        pulses = np.where(self._status["armed"], 1000 + 1000 * self._commands.T, _NO_PULSE)
        for name, pulse in zip(_SERVOS, pulses, strict=False):  # the others keep _NO_PULSE
            m[name] = pulse

    @streams("GPS_RAW_INT", ground_station=5, offboard=10)
    def _gps_raw_int(self, m: np.ndarray, t_us: int) -> None:
        s = self._readings.sensors
        came = s.gps_t_us != self._gps_t_us
        self._gps_t_us[came] = s.gps_t_us[came]
        self._gps_came_t_us[came] = t_us
        m["time_usec"] = self._gps_came_t_us
        m["fix_type"] = s.gps_fix
        m["lat"] = np.rint(np.degrees(s.gps_lat) * 1e7)
        m["lon"] = np.rint(np.degrees(s.gps_lon) * 1e7)
        m["alt"] = np.rint(s.gps_alt * 1e3)
        m["alt_ellipsoid"] = np.rint((s.gps_alt + self._geoid) * 1e3)
        speed = np.hypot(s.gps_vel[:, 0], s.gps_vel[:, 1])
        m["vel"] = np.minimum(speed * 100, 65535)
        course = np.degrees(np.arctan2(s.gps_vel[:, 0], s.gps_vel[:, 1])) % 360.0
        m["cog"] = np.rint(course * 100) % 36000
        m["satellites_visible"] = s.gps_sats
        # Of a simulator PX4 gets centimetres and neither dilution nor accuracy of the velocity.
        m["h_acc"], m["v_acc"] = (
            np.rint(x * 100).astype(np.float32) * _CENTIMETRE * _MILLI
            for x in (s.gps_eph, s.gps_epv)
        )
        m["vel_acc"] = 250

    @streams("HIGHRES_IMU", offboard=50)
    def _highres_imu(self, m: np.ndarray, t_us: int) -> None:
        s = self._readings.sensors
        m["time_usec"] = t_us
        m["xacc"], m["yacc"], m["zacc"] = flu_frd(s.accel).T
        m["xgyro"], m["ygyro"], m["zgyro"] = flu_frd(s.gyro).T
        m["xmag"], m["ymag"], m["zmag"] = flu_frd(s.mag).T * GAUSS
        m["abs_pressure"] = s.baro_pressure  # PX4 sends Pa here, not MAVLink's hPa
        m["diff_pressure"] = s.airspeed_pressure
        m["pressure_alt"] = self._geo[:, 2]
        m["temperature"] = s.baro_temperature - 273.15
        new = _NEW_IMU
        for bits, period in _SLOWER.items():
            left = self._imu_due.get(bits, t_us) - t_us
            if not 0 < left <= period:
                self._imu_due[bits] = t_us + period + max(left, -period // 2)
                new |= bits
        m["fields_updated"] = new | np.where(s.airspeed_pressure != 0.0, _NEW_AIRSPEED, 0)

    @streams("SCALED_PRESSURE", ground_station=1, offboard=1, bridge=False)
    def _scaled_pressure(self, m: np.ndarray, t_us: int) -> None:
        s = self._readings.sensors
        m["time_boot_ms"] = self._ms
        m["press_abs"] = s.baro_pressure * 1e-2
        m["temperature"] = (s.baro_temperature - 273.15) * 100

    @streams("VFR_HUD", ground_station=4, offboard=10)
    def _vfr_hud(self, m: np.ndarray, t_us: int) -> None:
        p = self._status
        m["groundspeed"] = np.hypot(self._ned_vel[:, 0], self._ned_vel[:, 1])
        # Calibrated, as PX4's; without a pitot tube PX4 says 0.
        pressure = np.maximum(self._readings.sensors.airspeed_pressure, 0.0)
        m["airspeed"] = np.sqrt(2.0 * pressure / density(0.0))
        m["heading"] = np.degrees(self._euler[:, 2]) % 360.0
        m["throttle"] = np.where(p["armed"], 100 * thrust_normalised(self._status), 0)
        m["alt"] = self._geo[:, 2]
        m["climb"] = -self._ned_vel[:, 2]

    @streams("ALTITUDE", ground_station=1, offboard=10)
    def _altitude(self, m: np.ndarray, t_us: int) -> None:
        m["time_usec"] = t_us
        m["altitude_monotonic"] = m["altitude_amsl"] = self._geo[:, 2]
        m["altitude_local"] = -self._ned[:, 2]
        m["altitude_relative"] = self._home[:, 2] - self._ned[:, 2]
        m["altitude_terrain"] = m["bottom_clearance"] = np.nan

    @streams("EXTENDED_SYS_STATE", ground_station=1, offboard=5)
    def _extended_sys_state(self, m: np.ndarray, t_us: int) -> None:
        p = self._status
        auto = _AUTO[p["mode"]]
        m["vtol_state"] = p["vtol_state"]
        m["landed_state"] = np.select(
            (
                p["landed"],
                auto & (p["target_type"] == TARGET_TAKEOFF),
                auto & (p["target_type"] == TARGET_LAND),
            ),
            (
                mavlink.MAV_LANDED_STATE_ON_GROUND,
                mavlink.MAV_LANDED_STATE_TAKEOFF,
                mavlink.MAV_LANDED_STATE_LANDING,
            ),
            mavlink.MAV_LANDED_STATE_IN_AIR,
        )

    @streams("MISSION_CURRENT", ground_station=1, offboard=1)
    def _mission_current(self, m: np.ndarray, t_us: int) -> None:
        """Leaves mission_state and mission_mode open as PX4 does, so that MAVSDK counts items."""
        missions = self._missions
        m["seq"] = missions.seq
        m["total"] = np.where(missions.total > 0, missions.total, 65535)
        for name in ("mission_id", "fence_id", "rally_points_id"):
            m[name] = missions.records[name]

    @streams("MISSION_ITEM_REACHED", ground_station=1, offboard=1, where=_has_reached)
    def _mission_item_reached(self, m: np.ndarray, t_us: int) -> None:
        m["seq"] = np.maximum(self._missions.last_reached, 0)

    @streams("SYS_STATUS", ground_station=1, offboard=5)
    def _sys_status(self, m: np.ndarray, t_us: int) -> None:
        sticks = self._clock.t_us - self._status["stick_t"] <= (
            1e6 * self._parameters.values["COM_RC_LOSS_T"]
        )
        healthy = _SENSORS | _ABSENT | np.where(self._status["ready"], _PREARM, 0)
        for bit, flag in _AID_SOURCES:
            healthy -= np.where(self._estimator.flags & flag, 0, bit)
        radio = np.where(sticks, _STICKS, 0)
        m["onboard_control_sensors_present"] = _SENSORS | radio
        m["onboard_control_sensors_enabled"] = _SENSORS | _STICKS  # missing sticks are a failure
        m["onboard_control_sensors_health"] = healthy | radio
        m["load"] = 250
        battery = self._battery
        m["voltage_battery"] = battery.voltage * 1e3
        m["current_battery"] = battery.current * 1e2
        m["battery_remaining"] = np.ceil(battery.level * 100)

    @streams("BATTERY_STATUS", ground_station=0.5, offboard=0.5)
    def _battery_status(self, m: np.ndarray, t_us: int) -> None:
        battery = self._battery
        m["current_consumed"] = np.nan_to_num(battery.consumed)
        m["energy_consumed"] = -1
        m["temperature"] = 32767
        m["voltages"] = 65535
        m["voltages"][:, 0] = np.minimum(battery.voltage * 1e3, 65534)  # the whole pack's, as PX4's
        m["current_battery"] = battery.current * 1e2
        m["battery_function"], m["type"] = mavlink.MAV_BATTERY_FUNCTION_ALL, 1
        m["battery_remaining"] = np.rint(battery.level * 100)
        m["charge_state"] = mavlink.MAV_BATTERY_CHARGE_STATE_OK

    @streams("ESTIMATOR_STATUS", ground_station=0.5, offboard=1)
    def _estimator_status(self, m: np.ndarray, t_us: int) -> None:
        e = self._estimator
        m["time_usec"] = t_us
        m["vel_ratio"], m["pos_horiz_ratio"] = e.test_ratio("vel"), e.test_ratio("pos")
        m["pos_vert_ratio"], m["mag_ratio"] = e.test_ratio("hgt"), e.test_ratio("mag")
        m["hagl_ratio"], m["tas_ratio"] = e.test_ratio("range"), e.test_ratio("airspeed")
        m["pos_horiz_accuracy"] = np.hypot(e.pos_std[:, 0], e.pos_std[:, 1])
        m["pos_vert_accuracy"] = e.pos_std[:, 2]
        m["flags"] = fleet_solution_status(e.records)

    @streams("ODOMETRY", offboard=30, where=_has_position)
    def _odometry(self, m: np.ndarray, t_us: int) -> None:
        e = self._estimator
        m["time_usec"] = t_us
        m["frame_id"], m["child_frame_id"] = (
            mavlink.MAV_FRAME_LOCAL_NED,
            mavlink.MAV_FRAME_BODY_FRD,
        )
        m["x"], m["y"], m["z"] = self._ned.T
        m["q"] = self._quat
        m["vx"], m["vy"], m["vz"] = flu_frd(rotate_inverse_array(e.quat, e.vel)).T
        m["rollspeed"], m["pitchspeed"], m["yawspeed"] = self._frd_rate.T
        m["pose_covariance"], m["velocity_covariance"] = np.nan, np.nan
        for k, std in enumerate((*np.abs(enu_ned(e.pos_std)).T, *np.abs(enu_ned(e.att_std)).T)):
            m["pose_covariance"][:, _DIAGONAL[k]] = std**2
        m["reset_counter"] = (e.reset_count + self._local_origins.resets) & 0xFF
        m["estimator_type"] = mavlink.MAV_ESTIMATOR_TYPE_AUTOPILOT

    @streams("WIND_COV", offboard=10, where=_has_wind)
    def _wind_cov(self, m: np.ndarray, t_us: int) -> None:
        m["time_usec"] = t_us
        m["wind_x"], m["wind_y"] = self._estimator.wind[:, 1], self._estimator.wind[:, 0]
        for name in ("var_horiz", "var_vert", "horiz_accuracy", "vert_accuracy"):
            m[name] = np.nan
        m["wind_alt"] = self._geo[:, 2]

    @streams("DISTANCE_SENSOR", offboard=10, bridge=False, where=_has_range)
    def _distance_sensor(self, m: np.ndarray, t_us: int) -> None:
        m["time_boot_ms"] = self._ms
        distance = self._readings.sensors.range_distance
        m["current_distance"] = 100 * np.clip(np.nan_to_num(distance), 0, 655)
        m["max_distance"] = 0xFFFF
        m["type"] = mavlink.MAV_DISTANCE_SENSOR_LASER
        m["orientation"] = mavlink.MAV_SENSOR_ROTATION_PITCH_270  # downwards
        m["covariance"] = 255  # not known

    @streams("HOME_POSITION", ground_station=0.5, offboard=0.5, where=_has_home)
    def _home_position(self, m: np.ndarray, t_us: int) -> None:
        geo = to_geodetic_array(self._status["home"], *self._origin)
        m["latitude"] = np.rint(np.degrees(geo[:, 0]) * 1e7)
        m["longitude"] = np.rint(np.degrees(geo[:, 1]) * 1e7)
        m["altitude"] = np.rint(geo[:, 2] * 1e3)
        m["x"], m["y"], m["z"] = self._home.T
        half = 0.5 * yaw_enu_ned(self._status["home_yaw"])
        m["q"][:, 0], m["q"][:, 3] = np.cos(half), np.sin(half)
        m["time_usec"] = t_us  # PX4 knows no approach: 0

    @streams("AUTOPILOT_VERSION")
    def _autopilot_version(self, m: np.ndarray, t_us: int) -> None:
        m["capabilities"] = _CAPABILITIES
        m["flight_sw_version"] = 0x010F04FF  # 1.15.4, release: the PX4 that this stack follows
        m["middleware_sw_version"], m["board_version"] = m["flight_sw_version"], 1
        m["uid"] = self._systems


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
