"""Payloads of MAVLink messages as numbers in ENU, FLU and SI units."""

import math
from typing import NamedTuple

from xtdrone_core.mavlink.dialect import mavlink

from ..mavlink_link import unpack
from .geometry import (
    FRD_FLU,
    NED_ENU,
    Quaternion,
    Vector,
    full_covariance,
    quat_enu_ned,
    rotate_covariance,
    yaw_enu_ned,
)

_LOCAL_FRAMES = (
    mavlink.MAV_FRAME_LOCAL_NED,
    mavlink.MAV_FRAME_LOCAL_ENU,
    mavlink.MAV_FRAME_LOCAL_OFFSET_NED,
    mavlink.MAV_FRAME_BODY_NED,
    mavlink.MAV_FRAME_BODY_OFFSET_NED,
)
_HALF = math.sqrt(0.5)
_UNKNOWN16 = 0xFFFF
_NO_COVARIANCE = (0.0,) * 9
_COVARIANCE_UNKNOWN, _COVARIANCE_APPROXIMATED, _COVARIANCE_DIAGONAL_KNOWN = range(3)


class Attitude(NamedTuple):
    """ATTITUDE_QUATERNION."""

    t_us: int
    quat: Quaternion
    rate: Vector  # body [rad/s]


class LocalPosition(NamedTuple):
    """LOCAL_POSITION_NED."""

    t_us: int
    pos: Vector
    vel: Vector


class ImuReading(NamedTuple):
    """HIGHRES_IMU. PX4 sends pressures in Pa, against MAVLink's hPa; MAVROS leaves them so."""

    t_us: int
    accel: Vector  # [m/s^2]
    gyro: Vector  # [rad/s]
    mag: Vector  # [T]
    pressure: float  # static
    differential_pressure: float
    temperature: float  # [degC]
    fields_updated: int


class GlobalPosition(NamedTuple):
    """GLOBAL_POSITION_INT."""

    t_us: int
    lat: float  # [deg]
    lon: float  # [deg]
    alt: float  # above mean sea level [m]
    relative_alt: float  # above home [m]
    vel: Vector
    heading: float  # [deg], or NaN


class GpsRaw(NamedTuple):
    """GPS_RAW_INT."""

    t_us: int
    fix_type: int
    lat: float  # [deg]
    lon: float  # [deg]
    alt: float  # above mean sea level [m]
    accuracy: tuple[float, float] | None  # horizontal and vertical standard deviation [m]
    dilution: tuple[float, float] | None  # horizontal and vertical
    velocity: tuple[float, float] | None  # east and north [m/s]
    satellites: int


class GpsFix(NamedTuple):
    """Fields of a sensor_msgs/NavSatFix."""

    status: int
    covariance: tuple[float, ...]
    covariance_type: int


class Battery(NamedTuple):
    """BATTERY_STATUS."""

    number: int
    voltage: float  # [V]
    current: float  # [A], negative while it discharges, or NaN
    remaining: float  # 0..1, or NaN
    cells: list[float]  # [V]


class HomePosition(NamedTuple):
    """HOME_POSITION."""

    lat: float  # [deg]
    lon: float  # [deg]
    alt: float  # above mean sea level [m]
    pos: Vector
    quat: Quaternion
    approach: Vector


class Odometry(NamedTuple):
    """ODOMETRY."""

    t_us: int
    pos: Vector
    quat: Quaternion
    vel: Vector  # body
    rate: Vector  # body [rad/s]
    pose_covariance: list[float]  # 6 by 6, axes of the world
    twist_covariance: list[float]  # 6 by 6, axes of the body


class PositionTarget(NamedTuple):
    """POSITION_TARGET_LOCAL_NED."""

    t_us: int
    frame: int
    mask: int
    pos: Vector
    vel: Vector
    acc: Vector
    yaw: float
    yaw_rate: float


class AttitudeTarget(NamedTuple):
    """ATTITUDE_TARGET."""

    t_us: int
    mask: int
    quat: Quaternion
    rate: Vector  # body [rad/s]
    thrust: float


class Waypoint(NamedTuple):
    """Fields of a mavros_msgs/Waypoint."""

    frame: int
    command: int
    is_current: int
    autocontinue: int
    param1: float
    param2: float
    param3: float
    param4: float
    x_lat: float
    y_long: float
    z_alt: float


def attitude(payload: bytes) -> Attitude:
    """Decodes ATTITUDE_QUATERNION."""
    t, w, x, y, z, p, q, r = unpack(31, payload)[:8]
    return Attitude(t * 1000, quat_enu_ned((x, y, z, w)), (p, -q, -r))


def local_position(payload: bytes) -> LocalPosition:
    """Decodes LOCAL_POSITION_NED."""
    t, x, y, z, vx, vy, vz = unpack(32, payload)
    return LocalPosition(t * 1000, (y, x, -z), (vy, vx, -vz))


def highres_imu(payload: bytes) -> ImuReading:
    """Decodes HIGHRES_IMU."""
    t, ax, ay, az, gx, gy, gz, mx, my, mz, static, differential, _, celsius, updated, _ = unpack(
        105, payload
    )
    return ImuReading(
        t,
        (ax, -ay, -az),
        (gx, -gy, -gz),
        (mx * 1e-4, -my * 1e-4, -mz * 1e-4),
        static,
        differential,
        celsius,
        updated,
    )


def global_position(payload: bytes) -> GlobalPosition:
    """Decodes GLOBAL_POSITION_INT."""
    t, lat, lon, alt, relative, vx, vy, vz, heading = unpack(33, payload)
    return GlobalPosition(
        t * 1000,
        lat * 1e-7,
        lon * 1e-7,
        alt * 1e-3,
        relative * 1e-3,
        (vy * 0.01, vx * 0.01, -vz * 0.01),
        math.nan if heading == _UNKNOWN16 else heading * 0.01,
    )


def gps_raw(payload: bytes) -> GpsRaw:
    """Decodes GPS_RAW_INT."""
    t, lat, lon, alt, eph, epv, speed, course, fix, satellites, _, h_acc, v_acc, *_ = unpack(
        24, payload
    )
    velocity = None
    if speed != _UNKNOWN16 and course != _UNKNOWN16:
        angle = math.radians(course * 0.01)
        velocity = speed * 0.01 * math.sin(angle), speed * 0.01 * math.cos(angle)
    return GpsRaw(
        t,
        fix,
        lat * 1e-7,
        lon * 1e-7,
        alt * 1e-3,
        (h_acc * 1e-3, v_acc * 1e-3) if h_acc and v_acc else None,
        None if _UNKNOWN16 in (eph, epv) else (eph * 0.01, epv * 0.01),
        velocity,
        satellites,
    )


def gps_fix(payload: bytes) -> GpsFix:
    """Returns status and covariance of GPS_RAW_INT."""
    gps = gps_raw(payload)
    covariance, covariance_type = _NO_COVARIANCE, _COVARIANCE_UNKNOWN
    deviation = gps.accuracy or gps.dilution
    if deviation:
        horizontal, vertical = (sigma * sigma for sigma in deviation)
        covariance = (horizontal, 0.0, 0.0, 0.0, horizontal, 0.0, 0.0, 0.0, vertical)
        covariance_type = _COVARIANCE_DIAGONAL_KNOWN if gps.accuracy else _COVARIANCE_APPROXIMATED
    return GpsFix(0 if gps.fix_type > 2 else -1, covariance, covariance_type)


NO_FIX = GpsFix(-1, _NO_COVARIANCE, _COVARIANCE_UNKNOWN)  # before the receiver has sent anything


def battery(payload: bytes) -> Battery:
    """Decodes BATTERY_STATUS; a current of -1 says that there is no reading."""
    _, _, _, *voltages, current, number, _, _, remaining = unpack(147, payload)[:18]
    cells = [v * 1e-3 for v in voltages if v != _UNKNOWN16]
    return Battery(
        number,
        sum(cells) if cells else math.nan,
        math.nan if current == -1 else -current * 0.01,
        math.nan if remaining < 0 else remaining * 0.01,
        cells,
    )


def home(payload: bytes) -> HomePosition:
    """Decodes HOME_POSITION."""
    lat, lon, alt, x, y, z, qw, qx, qy, qz, ax, ay, az, _ = unpack(242, payload)
    # MAVROS turns the world's axes only, and leaves the body's as they are in MAVLink.
    quat = _HALF * (qw + qz), _HALF * (qw - qz), -_HALF * (qx - qy), -_HALF * (qx + qy)
    return HomePosition(lat * 1e-7, lon * 1e-7, alt * 1e-3, (y, x, -z), quat, (ay, ax, -az))


def odometry(payload: bytes) -> Odometry:
    """Decodes ODOMETRY."""
    t, x, y, z, qw, qx, qy, qz, vx, vy, vz, p, q, r, *cov = unpack(331, payload)
    return Odometry(
        t,
        (y, x, -z),
        quat_enu_ned((qx, qy, qz, qw)),
        (vx, -vy, -vz),
        (p, -q, -r),
        rotate_covariance(full_covariance(cov[:21]), NED_ENU),
        rotate_covariance(full_covariance(cov[21:42]), FRD_FLU),
    )


def position_target(payload: bytes) -> PositionTarget:
    """Decodes POSITION_TARGET_LOCAL_NED."""
    t, x, y, z, vx, vy, vz, ax, ay, az, yaw, rate, mask, frame = unpack(85, payload)
    return PositionTarget(
        t * 1000, frame, mask, (y, x, -z), (vy, vx, -vz), (ay, ax, -az), yaw_enu_ned(yaw), -rate
    )


def attitude_target(payload: bytes) -> AttitudeTarget:
    """Decodes ATTITUDE_TARGET."""
    t, w, x, y, z, p, q, r, thrust, mask = unpack(83, payload)
    return AttitudeTarget(t * 1000, mask, quat_enu_ned((x, y, z, w)), (p, -q, -r), thrust)


def coordinate_scale(frame: int) -> float:
    """Returns the integers per unit of a MISSION_ITEM_INT's coordinates in a MAV_FRAME."""
    if frame == mavlink.MAV_FRAME_MISSION:
        return 1
    return 1e4 if frame in _LOCAL_FRAMES else 1e7


def waypoint(item: mavlink.MAVLink_mission_item_int_message) -> Waypoint:
    """Returns the fields of a mavros_msgs/Waypoint from a MISSION_ITEM_INT."""
    scale = 1.0 / coordinate_scale(item.frame)
    return Waypoint(
        item.frame,
        item.command,
        item.current,
        item.autocontinue,
        item.param1,
        item.param2,
        item.param3,
        item.param4,
        item.x * scale,
        item.y * scale,
        item.z,
    )
