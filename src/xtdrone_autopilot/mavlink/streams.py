"""Telemetry streams: the fleet's state as MAVLink 2 frames, encoded for all vehicles at once.

A message is a structured array over the fleet, laid out as on the wire; its
columns are filled with NumPy, and one compiled pass frames the rows of those
vehicles that are due. Frames of one vehicle and link travel in one datagram.
"""

import math
from dataclasses import dataclass

import numpy as np

from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned, yaw_enu_ned
from xtdrone_core.modes import PX4_MODE, Mode
from xtdrone_dynamics.compiled import njit
from xtdrone_dynamics.geodesy import to_geodetic_array
from xtdrone_dynamics.quaternion import rotate_inverse_array, to_euler_array

from ..estimation.flags import BARO_USED, GPS_USED, MAG_USED, POSITION_VALID
from ..estimation.status import fleet_solution_status
from .dialect import mavlink

BUFFER = 4096  # of one vehicle's datagram [bytes]; the default streams need at most 900
GAUSS = 1e4  # per tesla

_DIAGONAL = (0, 6, 11, 15, 18, 20)  # of a 6 x 6 matrix, in its upper triangle row by row
_NUMPY_TYPE = {"float": "<f4", "double": "<f8", "char": "u1", "int8_t": "i1", "uint8_t": "u1",
               "int16_t": "<i2", "uint16_t": "<u2", "int32_t": "<i4", "uint32_t": "<u4",
               "int64_t": "<i8", "uint64_t": "<u8"}

# PX4's rates to a ground station [Hz] (see docs), and those of the link of the ROS bridge.
GROUND_STATION_RATES = {
    "ATTITUDE": 50, "ATTITUDE_QUATERNION": 50, "ATTITUDE_TARGET": 50, "GLOBAL_POSITION_INT": 50,
    "LOCAL_POSITION_NED": 50, "POSITION_TARGET_LOCAL_NED": 50, "SERVO_OUTPUT_RAW": 50,
    "GPS_RAW_INT": 5, "VFR_HUD": 4, "HEARTBEAT": 1, "ALTITUDE": 1, "EXTENDED_SYS_STATE": 1,
    "MISSION_CURRENT": 1, "SCALED_PRESSURE": 1, "SYS_STATUS": 1,
    "POSITION_TARGET_GLOBAL_INT": 1, "BATTERY_STATUS": 0.5, "ESTIMATOR_STATUS": 0.5,
    "HOME_POSITION": 0.5,
}
OFFBOARD_RATES = {
    "ATTITUDE": 50, "ATTITUDE_QUATERNION": 50, "ATTITUDE_TARGET": 10, "GLOBAL_POSITION_INT": 50,
    "LOCAL_POSITION_NED": 25, "POSITION_TARGET_LOCAL_NED": 10, "HIGHRES_IMU": 50,
    "SERVO_OUTPUT_RAW": 10, "GPS_RAW_INT": 5, "VFR_HUD": 10, "HEARTBEAT": 1, "ALTITUDE": 10,
    "EXTENDED_SYS_STATE": 5, "MISSION_CURRENT": 1, "SCALED_PRESSURE": 1, "SYS_STATUS": 5,
    "POSITION_TARGET_GLOBAL_INT": 10, "BATTERY_STATUS": 0.5, "ESTIMATOR_STATUS": 5,
    "HOME_POSITION": 1, "ODOMETRY": 30, "WIND_COV": 10, "DISTANCE_SENSOR": 10,
}
BRIDGE_RATES = {
    "LOCAL_POSITION_NED": 50, "ATTITUDE_QUATERNION": 50, "HIGHRES_IMU": 50,
    "GLOBAL_POSITION_INT": 10, "GPS_RAW_INT": 5, "POSITION_TARGET_LOCAL_NED": 5,
    "HEARTBEAT": 1, "EXTENDED_SYS_STATE": 2, "SYS_STATUS": 1, "BATTERY_STATUS": 0.5,
    "HOME_POSITION": 0.5, "ALTITUDE": 1, "VFR_HUD": 1, "MISSION_CURRENT": 1,
    "ESTIMATOR_STATUS": 0.5,
}
ON_REQUEST = ("GPS_GLOBAL_ORIGIN", "AUTOPILOT_VERSION", "ATTITUDE", "ATTITUDE_TARGET",
              "SERVO_OUTPUT_RAW", "SCALED_PRESSURE", "POSITION_TARGET_GLOBAL_INT")


@dataclass(frozen=True)
class Layout:
    """How one message lies on the wire."""

    id: int
    crc_extra: int
    dtype: np.dtype


def layout(name: str) -> Layout:
    """The wire layout of a message of the common dialect."""
    message = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    kinds = dict(zip(message.fieldnames, message.fieldtypes))
    sizes = dict(zip(message.ordered_fieldnames, message.array_lengths))
    fields = [(field, _NUMPY_TYPE[kinds[field]]) + (((sizes[field],),) if sizes[field] else ())
              for field in message.ordered_fieldnames]
    return Layout(message.id, message.crc_extra, np.dtype(fields))


@njit
def frame_crc(buffer, start, end, extra):
    """CRC-16/MCRF4XX of buffer[start:end] and one byte more."""
    crc = 0xFFFF
    for k in range(start, end + 1):
        byte = buffer[k] if k < end else extra
        x = (byte ^ (crc & 0xFF)) & 0xFF
        x = (x ^ (x << 4)) & 0xFF
        crc = ((crc >> 8) ^ (x << 8) ^ (x << 3) ^ (x >> 4)) & 0xFFFF
    return crc


@njit
def append_frames(payload, message_id, crc_extra, chosen, sequence, out, length):
    """Appends a frame to out[i] of each chosen vehicle, zeros at the payload's end left out."""
    for i in range(payload.shape[0]):
        if not chosen[i]:
            continue
        size = payload.shape[1]
        while size > 1 and payload[i, size - 1] == 0:
            size -= 1
        at = length[i]
        if at + size + 12 > out.shape[1]:
            continue
        row = out[i]
        row[at] = 0xFD
        row[at + 1] = size
        row[at + 2] = 0
        row[at + 3] = 0
        row[at + 4] = sequence[i]
        row[at + 5] = i + 1
        row[at + 6] = 1
        row[at + 7] = message_id & 0xFF
        row[at + 8] = message_id >> 8 & 0xFF
        row[at + 9] = message_id >> 16 & 0xFF
        for k in range(size):
            row[at + 10 + k] = payload[i, k]
        crc = frame_crc(row, at + 1, at + 10 + size, crc_extra)
        row[at + 10 + size] = crc & 0xFF
        row[at + 11 + size] = crc >> 8
        length[i] = at + 12 + size
        sequence[i] = (sequence[i] + 1) & 0xFF


class Streams:
    """Fills and frames the telemetry messages of a fleet."""

    def __init__(self, autopilot):
        """autopilot: the EmbeddedAutopilot whose status, estimator and sensors are reported."""
        self._a = autopilot
        names = dict.fromkeys([*GROUND_STATION_RATES, *OFFBOARD_RATES, *BRIDGE_RATES, *ON_REQUEST])
        self.names = list(names)
        self.index = {name: k for k, name in enumerate(self.names)}
        self.ids = {layout(name).id: name for name in self.names}
        n = len(autopilot.status)
        self._layouts = [layout(name) for name in self.names]
        self._arrays = [np.zeros(n, dtype=item.dtype) for item in self._layouts]
        self._bytes = [a.view(np.uint8).reshape(n, -1) for a in self._arrays]
        self._fill = [getattr(self, f"_{name.lower()}") for name in self.names]
        self._filled_t = [-1] * len(self.names)
        self._shared_t = -1

    def rates(self, table: dict) -> np.ndarray:
        """Intervals of a rate table as (M,) int64 [us]; 0 = not streamed."""
        out = np.zeros(len(self.names), dtype=np.int64)
        for name, hertz in table.items():
            out[self.index[name]] = round(1e6 / hertz)
        return out

    def changed(self, name: str) -> None:
        """What a message reports has changed within this step."""
        self._filled_t[self.index[name]] = -1

    def append(self, k: int, t_us: int, chosen, sequence, out, length) -> None:
        """Frames message k of the chosen vehicles behind what out (N, BUFFER) already holds."""
        if self._filled_t[k] != t_us:
            self._share(t_us)
            self._fill[k](self._arrays[k], t_us)
            self._filled_t[k] = t_us
        if self.names[k] in _NEEDS_POSITION:
            chosen = chosen & (self._a.estimator.flags & POSITION_VALID != 0)
        elif self.names[k] == "HOME_POSITION":
            chosen = chosen & self._a.status["home_set"]
        elif self.names[k] == "WIND_COV":
            chosen = chosen & np.isfinite(self._a.estimator.wind[:, 0])
        elif self.names[k] == "DISTANCE_SENSOR":
            distance = self._a.sensors.range_distance  # 0 where there is no such sensor
            chosen = chosen & np.isfinite(distance) & (distance > 0.0)
        item = self._layouts[k]
        append_frames(self._bytes[k], item.id, item.crc_extra, chosen, sequence, out, length)

    def _share(self, t_us):
        """What several messages need, worked out once for each tick."""
        if self._shared_t == t_us:
            return
        self._shared_t = t_us
        e = self._a.estimator
        self._ms = t_us // 1000
        self._ned = enu_ned(e.pos)
        self._ned_vel = enu_ned(e.vel)
        self._frd_rate = flu_frd(e.ang_vel)
        self._quat = quat_enu_ned(e.quat)
        self._euler = to_euler_array(self._quat)
        self._geo = to_geodetic_array(e.pos, *self._a.origin)
        self._lat_lon = np.degrees(self._geo[:, :2]) * 1e7
        self._home = enu_ned(self._a.status["home"])

    def _heartbeat(self, m, t_us):
        p = self._a.status
        m["type"] = self._a.parameters.values["MAV_TYPE"]
        m["autopilot"] = mavlink.MAV_AUTOPILOT_PX4
        m["custom_mode"] = _CUSTOM_MODE[p["mode"]]
        m["base_mode"] = _BASE_MODE[p["mode"]] | np.where(p["armed"], 128, 0).astype(np.uint8)
        m["system_status"] = np.where(p["home_set"], mavlink.MAV_STATE_STANDBY,
                                      mavlink.MAV_STATE_BOOT)
        m["system_status"][p["armed"]] = mavlink.MAV_STATE_ACTIVE
        m["system_status"][self._a.failsafes.active()] = mavlink.MAV_STATE_CRITICAL
        m["mavlink_version"] = 3

    def _attitude(self, m, t_us):
        m["time_boot_ms"] = self._ms
        m["roll"], m["pitch"], m["yaw"] = self._euler.T
        m["rollspeed"], m["pitchspeed"], m["yawspeed"] = self._frd_rate.T

    def _attitude_quaternion(self, m, t_us):
        m["time_boot_ms"] = self._ms
        m["q2"], m["q3"], m["q4"], m["q1"] = self._quat.T
        m["rollspeed"], m["pitchspeed"], m["yawspeed"] = self._frd_rate.T

    def _attitude_target(self, m, t_us):
        p = self._a.status
        m["time_boot_ms"] = self._ms
        m["q"] = quat_enu_ned(p["sp_quat"])[:, [3, 0, 1, 2]]
        rates = flu_frd(p["sp_rates"])
        m["body_roll_rate"], m["body_pitch_rate"], m["body_yaw_rate"] = rates.T
        m["thrust"] = self._a.thrust_normalised()

    def _local_position_ned(self, m, t_us):
        m["time_boot_ms"] = self._ms
        m["x"], m["y"], m["z"] = self._ned.T
        m["vx"], m["vy"], m["vz"] = self._ned_vel.T

    def _global_position_int(self, m, t_us):
        m["time_boot_ms"] = self._ms
        m["lat"], m["lon"] = np.rint(self._lat_lon).astype(np.int32).T
        m["alt"] = np.rint(self._geo[:, 2] * 1e3)
        m["relative_alt"] = np.rint((self._home[:, 2] - self._ned[:, 2]) * 1e3)
        m["vx"], m["vy"], m["vz"] = np.clip(np.rint(self._ned_vel.T * 100), -32767, 32767)
        m["hdg"] = np.rint(np.degrees(self._euler[:, 2]) % 360.0 * 100) % 36000

    def _position_target_local_ned(self, m, t_us):
        p = self._a.status
        m["time_boot_ms"] = self._ms
        m["coordinate_frame"] = mavlink.MAV_FRAME_LOCAL_NED
        m["x"], m["y"], m["z"] = enu_ned(p["sp_pos"]).T
        m["vx"], m["vy"], m["vz"] = enu_ned(p["sp_vel"]).T
        m["afx"], m["afy"], m["afz"] = enu_ned(p["sp_acc"]).T
        m["yaw"] = yaw_enu_ned(p["sp_yaw"])
        m["yaw_rate"] = -p["sp_yaw_rate"]
        values = np.stack([m[f] for f in ("x", "y", "z", "vx", "vy", "vz", "afx", "afy", "afz")])
        free = ~np.isfinite(values)
        bits = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256], dtype=np.uint16)
        m["type_mask"] = (free * bits[:, None]).sum(axis=0)
        m["type_mask"] |= np.where(np.isfinite(m["yaw"]), 0, 1024).astype(np.uint16)
        m["type_mask"] |= np.where(np.isfinite(m["yaw_rate"]), 0, 2048).astype(np.uint16)

    def _position_target_global_int(self, m, t_us):
        p = self._a.status
        m["time_boot_ms"] = self._ms
        m["coordinate_frame"] = mavlink.MAV_FRAME_GLOBAL_INT
        given = np.isfinite(p["sp_pos"]).all(axis=1)
        geo = to_geodetic_array(np.where(given[:, None], p["sp_pos"], 0.0), *self._a.origin)
        m["lat_int"] = np.where(given, np.rint(np.degrees(geo[:, 0]) * 1e7), 0)
        m["lon_int"] = np.where(given, np.rint(np.degrees(geo[:, 1]) * 1e7), 0)
        m["alt"] = np.where(given, geo[:, 2], 0.0)
        m["type_mask"] = np.where(given, 0xFF8, 0xFFF)

    def _servo_output_raw(self, m, t_us):
        m["time_usec"] = t_us & 0xFFFFFFFF
        for k in range(min(self._a.commands.shape[1], 8)):
            m[f"servo{k + 1}_raw"] = 1000 + 1000 * self._a.commands[:, k]

    def _gps_raw_int(self, m, t_us):
        s = self._a.sensors
        m["time_usec"] = s.gps_t_us
        m["fix_type"] = s.gps_fix
        m["lat"] = np.rint(np.degrees(s.gps_lat) * 1e7)
        m["lon"] = np.rint(np.degrees(s.gps_lon) * 1e7)
        m["alt"] = m["alt_ellipsoid"] = np.rint(s.gps_alt * 1e3)
        m["eph"], m["epv"] = 80, 100  # dilution of precision, times 100
        speed = np.hypot(s.gps_vel[:, 0], s.gps_vel[:, 1])
        m["vel"] = np.minimum(speed * 100, 65535)
        course = np.degrees(np.arctan2(s.gps_vel[:, 0], s.gps_vel[:, 1])) % 360.0
        m["cog"] = np.rint(course * 100) % 36000
        m["satellites_visible"] = s.gps_sats
        m["h_acc"], m["v_acc"] = s.gps_eph * 1e3, s.gps_epv * 1e3

    def _highres_imu(self, m, t_us):
        s = self._a.sensors
        m["time_usec"] = t_us
        m["xacc"], m["yacc"], m["zacc"] = flu_frd(s.accel).T
        m["xgyro"], m["ygyro"], m["zgyro"] = flu_frd(s.gyro).T
        m["xmag"], m["ymag"], m["zmag"] = flu_frd(s.mag).T * GAUSS
        m["abs_pressure"] = s.baro_pressure * 1e-2
        m["pressure_alt"] = self._geo[:, 2]
        m["temperature"] = s.baro_temperature - 273.15
        m["fields_updated"] = 0x1FFF

    def _scaled_pressure(self, m, t_us):
        s = self._a.sensors
        m["time_boot_ms"] = self._ms
        m["press_abs"] = s.baro_pressure * 1e-2
        m["temperature"] = (s.baro_temperature - 273.15) * 100

    def _vfr_hud(self, m, t_us):
        p = self._a.status
        m["airspeed"] = m["groundspeed"] = np.hypot(self._ned_vel[:, 0], self._ned_vel[:, 1])
        m["heading"] = np.degrees(self._euler[:, 2]) % 360.0
        m["throttle"] = np.where(p["armed"], 100 * self._a.thrust_normalised(), 0)
        m["alt"] = self._geo[:, 2]
        m["climb"] = -self._ned_vel[:, 2]

    def _altitude(self, m, t_us):
        m["time_usec"] = t_us
        m["altitude_monotonic"] = m["altitude_amsl"] = self._geo[:, 2]
        m["altitude_local"] = -self._ned[:, 2]
        m["altitude_relative"] = self._home[:, 2] - self._ned[:, 2]
        m["altitude_terrain"] = m["bottom_clearance"] = np.nan

    def _extended_sys_state(self, m, t_us):
        p = self._a.status
        state = np.where(p["landed"], mavlink.MAV_LANDED_STATE_ON_GROUND,
                         mavlink.MAV_LANDED_STATE_IN_AIR)
        state = np.where(~p["landed"] & (p["mode"] == Mode.TAKEOFF),
                         mavlink.MAV_LANDED_STATE_TAKEOFF, state)
        state = np.where(~p["landed"] & (p["mode"] == Mode.LAND),
                         mavlink.MAV_LANDED_STATE_LANDING, state)
        m["landed_state"] = state

    def _mission_current(self, m, t_us):
        missions = self._a.missions
        m["seq"] = missions.seq
        m["total"] = np.where(missions.total > 0, missions.total, 65535)
        m["mission_state"] = missions.state()
        m["mission_mode"] = np.where(self._a.status["mode"] == Mode.MISSION, 1, 2)

    def _sys_status(self, m, t_us):
        flags, failsafes = self._a.estimator.flags, self._a.failsafes
        healthy = np.where(self._a.status["ready"], _SENSORS | _PREARM, _SENSORS)
        for bit, used in _AIDS:
            healthy -= np.where(flags & used, 0, bit)
        there = np.where(failsafes.fenced, _SENSORS | _PREARM | _FENCE, _SENSORS | _PREARM)
        m["onboard_control_sensors_present"] = m["onboard_control_sensors_enabled"] = there
        m["onboard_control_sensors_health"] = healthy | np.where(failsafes.outside, 0, _FENCE)
        m["load"] = 250
        battery = self._a.battery
        m["voltage_battery"] = battery.voltage * 1e3
        m["current_battery"] = battery.current * 1e2
        m["battery_remaining"] = np.rint(battery.level * 100)

    def _battery_status(self, m, t_us):
        battery = self._a.battery
        m["current_consumed"] = np.where(np.isfinite(battery.consumed), battery.consumed, -1)
        m["energy_consumed"] = -1
        m["temperature"] = 32767
        cells = self._a.parameters.values["BAT1_N_CELLS"]
        m["voltages"] = 65535
        for k in range(10):
            m["voltages"][:, k] = np.where(k < cells, battery.voltage / cells * 1e3, 65535)
        m["current_battery"] = battery.current * 1e2
        m["battery_function"], m["type"] = mavlink.MAV_BATTERY_FUNCTION_ALL, 1
        m["battery_remaining"] = np.rint(battery.level * 100)
        m["charge_state"] = mavlink.MAV_BATTERY_CHARGE_STATE_OK

    def _estimator_status(self, m, t_us):
        e = self._a.estimator
        m["time_usec"] = t_us
        m["vel_ratio"], m["pos_horiz_ratio"] = e.test_ratio("vel"), e.test_ratio("pos")
        m["pos_vert_ratio"], m["mag_ratio"] = e.test_ratio("hgt"), e.test_ratio("mag")
        m["hagl_ratio"], m["tas_ratio"] = e.test_ratio("range"), e.test_ratio("airspeed")
        m["pos_horiz_accuracy"] = np.hypot(e.pos_std[:, 0], e.pos_std[:, 1])
        m["pos_vert_accuracy"] = e.pos_std[:, 2]
        m["flags"] = fleet_solution_status(e.records)

    def _odometry(self, m, t_us):
        e = self._a.estimator
        m["time_usec"] = t_us
        m["frame_id"], m["child_frame_id"] = (mavlink.MAV_FRAME_LOCAL_NED,
                                              mavlink.MAV_FRAME_BODY_FRD)
        m["x"], m["y"], m["z"] = self._ned.T
        m["q"] = self._quat[:, [3, 0, 1, 2]]
        m["vx"], m["vy"], m["vz"] = flu_frd(rotate_inverse_array(e.quat, e.vel)).T
        m["rollspeed"], m["pitchspeed"], m["yawspeed"] = self._frd_rate.T
        m["pose_covariance"], m["velocity_covariance"] = np.nan, np.nan
        for k, std in enumerate((*np.abs(enu_ned(e.pos_std)).T, *np.abs(enu_ned(e.att_std)).T)):
            m["pose_covariance"][:, _DIAGONAL[k]] = std ** 2
        m["reset_counter"] = e.reset_count & 0xFF
        m["estimator_type"] = mavlink.MAV_ESTIMATOR_TYPE_AUTOPILOT

    def _wind_cov(self, m, t_us):
        m["time_usec"] = t_us
        m["wind_x"], m["wind_y"] = self._a.estimator.wind[:, 1], self._a.estimator.wind[:, 0]
        for name in ("var_horiz", "var_vert", "horiz_accuracy", "vert_accuracy"):
            m[name] = np.nan
        m["wind_alt"] = self._geo[:, 2]

    def _distance_sensor(self, m, t_us):
        m["time_boot_ms"] = self._ms
        distance = self._a.sensors.range_distance
        m["current_distance"] = 100 * np.clip(np.nan_to_num(distance), 0, 655)
        m["max_distance"] = 0xFFFF
        m["type"] = mavlink.MAV_DISTANCE_SENSOR_LASER
        m["orientation"] = mavlink.MAV_SENSOR_ROTATION_PITCH_270  # downwards
        m["covariance"] = 255  # not known

    def _home_position(self, m, t_us):
        geo = to_geodetic_array(self._a.status["home"], *self._a.origin)
        m["latitude"] = np.rint(np.degrees(geo[:, 0]) * 1e7)
        m["longitude"] = np.rint(np.degrees(geo[:, 1]) * 1e7)
        m["altitude"] = np.rint(geo[:, 2] * 1e3)
        m["x"], m["y"], m["z"] = self._home.T
        half = 0.5 * yaw_enu_ned(self._a.status["home_yaw"])
        m["q"][:, 0], m["q"][:, 3] = np.cos(half), np.sin(half)
        m["approach_x"] = m["approach_y"] = m["approach_z"] = np.nan
        m["time_usec"] = t_us

    def _gps_global_origin(self, m, t_us):
        lat, lon, alt = self._a.origin
        m["latitude"] = round(math.degrees(lat) * 1e7)
        m["longitude"] = round(math.degrees(lon) * 1e7)
        m["altitude"] = round(alt * 1e3)
        m["time_usec"] = t_us

    def _autopilot_version(self, m, t_us):
        m["capabilities"] = _CAPABILITIES
        m["flight_sw_version"] = 0x010F04FF  # 1.15.4, release: the PX4 that this stack follows
        m["uid"] = np.arange(1, len(m) + 1)
        m["vendor_id"], m["product_id"] = 0x26AC, 0x10


# Not sent without a position.
_NEEDS_POSITION = frozenset({"LOCAL_POSITION_NED", "GLOBAL_POSITION_INT", "ODOMETRY"})
_SENSORS = (mavlink.MAV_SYS_STATUS_SENSOR_3D_GYRO | mavlink.MAV_SYS_STATUS_SENSOR_3D_ACCEL
            | mavlink.MAV_SYS_STATUS_SENSOR_3D_MAG
            | mavlink.MAV_SYS_STATUS_SENSOR_ABSOLUTE_PRESSURE
            | mavlink.MAV_SYS_STATUS_SENSOR_GPS | mavlink.MAV_SYS_STATUS_SENSOR_BATTERY)
_AIDS = ((mavlink.MAV_SYS_STATUS_SENSOR_GPS, GPS_USED),
         (mavlink.MAV_SYS_STATUS_SENSOR_3D_MAG, MAG_USED),
         (mavlink.MAV_SYS_STATUS_SENSOR_ABSOLUTE_PRESSURE, BARO_USED))
_PREARM, _FENCE = mavlink.MAV_SYS_STATUS_PREARM_CHECK, mavlink.MAV_SYS_STATUS_GEOFENCE
_CAPABILITIES = (mavlink.MAV_PROTOCOL_CAPABILITY_PARAM_FLOAT
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
                 | mavlink.MAV_PROTOCOL_CAPABILITY_SET_POSITION_TARGET_GLOBAL_INT
                 | mavlink.MAV_PROTOCOL_CAPABILITY_MAVLINK2)
_CUSTOM_MODE = np.array([PX4_MODE[mode][0] << 16 | PX4_MODE[mode][1] << 24 for mode in Mode],
                        dtype=np.uint32)
# custom mode enabled, and manual input, stabilize, guided, auto as PX4 sets them.
_BASE_MODE = np.array([{Mode.MANUAL: 0x41, Mode.ACRO: 0x41, Mode.STABILIZED: 0x51,
                        Mode.ALTCTL: 0x51, Mode.POSCTL: 0x51}.get(mode, 0x1D) for mode in Mode],
                      dtype=np.uint8)
