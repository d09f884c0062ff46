"""NED, FRD and MAVLink's units against ENU, FLU and SI: this package's only place for them.

The scalar forms of xtdrone_core.frames, since a NumPy call on three numbers
costs more than the rest of a message. Vectors are tuples; each frame function
is its own inverse.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.earth.geoid import geoid_height

from .mavlink_link import unpack

BODY_FRAMES = (mavlink.MAV_FRAME_BODY_NED, mavlink.MAV_FRAME_BODY_OFFSET_NED)
NO_POSITION, NO_VELOCITY, NO_ACCELERATION = 0b111, 0b111000, 0b111000000  # parts of a type mask
NO_YAW, NO_YAW_RATE = 1 << 10, 1 << 11
POSITION_ONLY = 0b100111111000  # type mask: position and yaw
POSITION_AND_YAW_RATE = 0b000111111000
VELOCITY_ONLY = 0b010111000111  # velocity and yaw rate
ACCELERATION_ONLY = 0b110000111111
FORCE = 1 << 9
_HALF = math.sqrt(0.5)
_UNKNOWN16 = 0xFFFF
_EQUATOR_M, _ECCENTRICITY_2 = 6_378_137.0, 6.694379990141317e-3  # of WGS 84
NED_ENU = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
FRD_FLU = np.diag([1.0, -1.0, -1.0])
TO_NED, TO_FLU = (_HALF, _HALF, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)  # rotations xyzw
_UPPER = np.triu_indices(6)


def enu_ned(v: npt.ArrayLike) -> tuple:
    """A vector between ENU and NED."""
    return v[1], v[0], -v[2]


def flu_frd(v: npt.ArrayLike) -> tuple:
    """A vector between FLU and FRD."""
    return v[0], -v[1], -v[2]


def quat_enu_ned(q: npt.ArrayLike) -> tuple:
    """An attitude xyzw between FLU-in-ENU and FRD-in-NED."""
    x, y, z, w = q
    return _HALF * (x + y), _HALF * (x - y), _HALF * (w - z), _HALF * (w + z)


def product(p: Sequence[float], q: Sequence[float]) -> tuple:
    """Two rotations xyzw, first q, then p."""
    a, b, c, d = p
    x, y, z, w = q
    return (
        d * x + a * w + b * z - c * y,
        d * y - a * z + b * w + c * x,
        d * z + a * y - b * x + c * w,
        d * w - a * x - b * y - c * z,
    )


def yaw_enu_ned(yaw: float) -> float:
    """Counter-clockwise from east against clockwise from north, in -pi..pi [rad]."""
    return (1.5 * math.pi - yaw) % (2.0 * math.pi) - math.pi


def rotate(q: npt.ArrayLike, v: npt.ArrayLike) -> tuple:
    """v turned by the attitude q xyzw: from the body to the world."""
    x, y, z, w = q
    a, b, c = v
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return (
        a + w * tx + y * tz - z * ty,
        b + w * ty + z * tx - x * tz,
        c + w * tz + x * ty - y * tx,
    )


def rotate_back(q: npt.ArrayLike, v: npt.ArrayLike) -> Any:
    """v from the world to the body of attitude q."""
    return rotate((-q[0], -q[1], -q[2], q[3]), v)


def quaternion(roll: float, pitch: float, yaw: float) -> tuple:
    """The attitude xyzw of roll, pitch and yaw [rad]."""
    (cr, sr), (cp, sp), (cy, sy) = (
        (math.cos(0.5 * a), math.sin(0.5 * a)) for a in (roll, pitch, yaw)
    )
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def euler(q: npt.ArrayLike) -> tuple:
    """Roll, pitch, yaw of an attitude xyzw [rad]."""
    x, y, z, w = q
    return (
        math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
        math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x)))),
        math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
    )


def turned(covariance: npt.ArrayLike, turn: np.ndarray) -> list[float]:
    """A 6 by 6 covariance, flat, turned to other axes; NaN of one element goes to all."""
    both = np.kron(np.eye(2), turn)
    return (both @ np.reshape(covariance, (6, 6)) @ both.T).ravel().tolist()


def upper_triangle(covariance: npt.ArrayLike) -> list[float]:
    """The 21 elements that MAVLink has of a 6 by 6 covariance."""
    return np.reshape(covariance, (6, 6))[_UPPER].tolist()


def ecef(place: Sequence[float]) -> tuple:
    """Geocentric coordinates [m] of latitude, longitude [deg] and height above WGS 84 [m]."""
    lat, lon, height = math.radians(place[0]), math.radians(place[1]), place[2]
    across = _EQUATOR_M / math.sqrt(1.0 - _ECCENTRICITY_2 * math.sin(lat) ** 2)
    return (
        (across + height) * math.cos(lat) * math.cos(lon),
        (across + height) * math.cos(lat) * math.sin(lon),
        (across * (1.0 - _ECCENTRICITY_2) + height) * math.sin(lat),
    )


def enu_from(origin: Sequence[float], place: Sequence[float]) -> tuple:
    """East, north and up [m] of a place, in the tangential plane of an origin; both as ecef()."""
    dx, dy, dz = (b - a for a, b in zip(ecef(origin), ecef(place)))
    lat, lon = math.radians(origin[0]), math.radians(origin[1])
    outwards = math.cos(lon) * dx + math.sin(lon) * dy
    return (
        -math.sin(lon) * dx + math.cos(lon) * dy,
        -math.sin(lat) * outwards + math.cos(lat) * dz,
        math.cos(lat) * outwards + math.sin(lat) * dz,
    )


def place_of(origin: Sequence[float], position: Sequence[float]) -> tuple:
    """The place whose enu_from() the origin is the position: its inverse."""
    lat, lon, height = origin
    for _ in range(4):  # each step is wrong by less than a thousandth of the one before
        east, north, up = (p - q for p, q in zip(position, enu_from(origin, (lat, lon, height))))
        lat += math.degrees(north / _EQUATOR_M)
        lon += math.degrees(east / (_EQUATOR_M * math.cos(math.radians(lat))))
        height += up
    return lat, lon, height


def mav_frame(name: str) -> int | None:
    """The number of a MAV_FRAME by its name without that word; None = there is none."""
    return next(
        (
            number
            for number, entry in mavlink.enums["MAV_FRAME"].items()
            if entry.name == f"MAV_FRAME_{name}"
        ),
        None,
    )


def mav_frame_name(number: int) -> str:
    """The name of a MAV_FRAME without that word, or its number where it has none."""
    entry = mavlink.enums["MAV_FRAME"].get(number)
    return str(number) if entry is None else entry.name.removeprefix("MAV_FRAME_")


# From MAVLink -------------------------------------------------------------------------------


def attitude(payload: bytes) -> tuple:
    """ATTITUDE_QUATERNION as (t_us, quat, body rate)."""
    t, w, x, y, z, p, q, r = unpack(31, payload)[:8]
    return t * 1000, quat_enu_ned((x, y, z, w)), (p, -q, -r)


def local_position(payload: bytes) -> tuple:
    """LOCAL_POSITION_NED as (t_us, pos, vel)."""
    t, x, y, z, vx, vy, vz = unpack(32, payload)
    return t * 1000, (y, x, -z), (vy, vx, -vz)


def highres_imu(payload: bytes) -> tuple:
    """HIGHRES_IMU as (t_us, accel, gyro, mag [T], pressure, differential, degrees Celsius,
    fields_updated). PX4 sends pressures in Pa, against MAVLink's hPa; MAVROS leaves them so.
    """
    t, ax, ay, az, gx, gy, gz, mx, my, mz, static, differential, _, celsius, new, _ = unpack(
        105, payload
    )
    return (
        t,
        (ax, -ay, -az),
        (gx, -gy, -gz),
        (mx * 1e-4, -my * 1e-4, -mz * 1e-4),
        static,
        differential,
        celsius,
        new,
    )


def global_position(payload: bytes) -> tuple:
    """GLOBAL_POSITION_INT as (t_us, lat, lon [deg], height above mean sea level, above home [m],
    vel, heading [deg] or NaN).
    """
    t, lat, lon, alt, relative, vx, vy, vz, heading = unpack(33, payload)
    return (
        t * 1000,
        lat * 1e-7,
        lon * 1e-7,
        alt * 1e-3,
        relative * 1e-3,
        (vy * 0.01, vx * 0.01, -vz * 0.01),
        math.nan if heading == _UNKNOWN16 else heading * 0.01,
    )


def above_ellipsoid(lat: float, lon: float, amsl: float) -> float:
    """Height above the ellipsoid [m] of one above mean sea level, at lat, lon [deg]."""
    return amsl + geoid_height(math.radians(lat), math.radians(lon))


def above_sea(lat: float, lon: float, ellipsoidal: float) -> float:
    """Height above mean sea level [m] of one above the ellipsoid, at lat, lon [deg]."""
    return ellipsoidal - geoid_height(math.radians(lat), math.radians(lon))


def gps_raw(payload: bytes) -> tuple:
    """GPS_RAW_INT as (t_us, fix type, lat, lon [deg], height above mean sea level [m],
    horizontal and vertical deviation [m] or None, dilutions, velocity east and north [m/s] or
    None, satellites).
    """
    t, lat, lon, alt, eph, epv, speed, course, fix, satellites, _, h_acc, v_acc, *_ = unpack(
        24, payload
    )
    velocity = None
    if speed != _UNKNOWN16 and course != _UNKNOWN16:
        angle = math.radians(course * 0.01)
        velocity = speed * 0.01 * math.sin(angle), speed * 0.01 * math.cos(angle)
    return (
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


def battery(payload: bytes) -> tuple:
    """BATTERY_STATUS as (id, volts, amperes or NaN, 0..1 or NaN, volts of each cell).

    The current is negative where it discharges; a reading of -1 A says that there is none.
    """
    _, _, _, *voltages, current, number, _, _, remaining = unpack(147, payload)[:18]
    cells = [v * 1e-3 for v in voltages if v != _UNKNOWN16]
    return (
        number,
        sum(cells) if cells else math.nan,
        math.nan if current == -1 else -current * 0.01,
        math.nan if remaining < 0 else remaining * 0.01,
        cells,
    )


def home(payload: bytes) -> tuple:
    """HOME_POSITION as (lat, lon [deg], height above mean sea level [m], pos, quat, approach)."""
    lat, lon, alt, x, y, z, qw, qx, qy, qz, ax, ay, az, _ = unpack(242, payload)
    # MAVROS turns the world's axes only, and leaves the body's as they are in MAVLink.
    quat = _HALF * (qw + qz), _HALF * (qw - qz), -_HALF * (qx - qy), -_HALF * (qx + qy)
    return lat * 1e-7, lon * 1e-7, alt * 1e-3, (y, x, -z), quat, (ay, ax, -az)


def odometry(payload: bytes) -> tuple:
    """ODOMETRY as (t_us, pos, quat, body velocity, body rate, 36 covariances of the pose in the
    world's axes, 36 of the twist in the body's).
    """
    t, x, y, z, qw, qx, qy, qz, vx, vy, vz, p, q, r, *cov = unpack(331, payload)
    return (
        t,
        (y, x, -z),
        quat_enu_ned((qx, qy, qz, qw)),
        (vx, -vy, -vz),
        (p, -q, -r),
        turned(_full(cov[:21]), NED_ENU),
        turned(_full(cov[21:42]), FRD_FLU),
    )


def _full(triangle):
    """A 6 by 6 covariance, flat, from its upper triangle."""
    full = np.zeros((6, 6))
    full[_UPPER] = triangle
    full.T[_UPPER] = triangle
    return full.ravel()


def position_target(payload: bytes) -> tuple:
    """POSITION_TARGET_LOCAL_NED as (t_us, frame, mask, pos, vel, acc, yaw, yaw rate)."""
    t, x, y, z, vx, vy, vz, ax, ay, az, yaw, rate, mask, frame = unpack(85, payload)
    return (
        t * 1000,
        frame,
        mask,
        (y, x, -z),
        (vy, vx, -vz),
        (ay, ax, -az),
        yaw_enu_ned(yaw),
        -rate,
    )


def attitude_target(payload: bytes) -> tuple:
    """ATTITUDE_TARGET as (t_us, mask, quat, body rate, thrust)."""
    t, w, x, y, z, p, q, r, thrust, mask = unpack(83, payload)
    return t * 1000, mask, quat_enu_ned((x, y, z, w)), (p, -q, -r), thrust


# To MAVLink ---------------------------------------------------------------------------------


def set_position_target(
    i: int,
    t_us: int,
    frame: int,
    mask: int,
    pos: npt.ArrayLike,
    vel: npt.ArrayLike,
    acc: npt.ArrayLike,
    yaw: float,
    yaw_rate: float,
) -> Any:
    """SET_POSITION_TARGET_LOCAL_NED for vehicle i, from ENU, or from FLU in the body's frames."""
    body = frame in BODY_FRAMES
    turn = flu_frd if body else enu_ned
    return mavlink.MAVLink_set_position_target_local_ned_message(
        t_us // 1000 & 0xFFFFFFFF,
        i + 1,
        1,
        frame,
        mask,
        *turn(pos),
        *turn(vel),
        *turn(acc),
        -yaw if body else yaw_enu_ned(yaw),
        -yaw_rate,
    )


def set_global_target(
    i: int,
    t_us: int,
    frame: int,
    mask: int,
    lat: float,
    lon: float,
    alt: float,
    vel: npt.ArrayLike,
    acc: npt.ArrayLike,
    yaw: float,
    yaw_rate: float,
) -> Any:
    """SET_POSITION_TARGET_GLOBAL_INT for vehicle i; lat, lon in degrees, vectors in ENU."""
    return mavlink.MAVLink_set_position_target_global_int_message(
        t_us // 1000 & 0xFFFFFFFF,
        i + 1,
        1,
        frame,
        mask,
        round(lat * 1e7),
        round(lon * 1e7),
        alt,
        *enu_ned(vel),
        *enu_ned(acc),
        yaw_enu_ned(yaw),
        -yaw_rate,
    )


def set_attitude_target(
    i: int, t_us: int, mask: int, quat: npt.ArrayLike, rate: npt.ArrayLike, thrust: float
) -> Any:
    """SET_ATTITUDE_TARGET for vehicle i; thrust is held within 0..1, as MAVROS does."""
    x, y, z, w = quat_enu_ned(quat)
    return mavlink.MAVLink_set_attitude_target_message(
        t_us // 1000 & 0xFFFFFFFF,
        i + 1,
        1,
        mask,
        [w, x, y, z],
        *flu_frd(rate),
        min(max(thrust, 0.0), 1.0),
    )


def vision_position(
    t_us: int, pos: npt.ArrayLike, quat: npt.ArrayLike, covariance: npt.ArrayLike | None = None
) -> Any:
    """VISION_POSITION_ESTIMATE; covariance is the upper triangle (21), or None."""
    roll, pitch, yaw = euler(quat_enu_ned(quat))
    return mavlink.MAVLink_vision_position_estimate_message(
        t_us, *enu_ned(pos), roll, pitch, yaw, covariance or [0.0] * 21
    )


def _degrees(value, scale):
    """A coordinate of a mission item; not a number is the least integer, as in MAVROS."""
    return round(value * scale) if math.isfinite(value) else -(2**31)


def mission_item(waypoint: Any, current: bool) -> dict:
    """Fields of a MISSION_ITEM_INT from a mavros_msgs/Waypoint (whose places MAVROS leaves as
    they are).
    """
    scale = 1e4 if waypoint.frame in _LOCAL_FRAMES else 1e7
    if waypoint.frame == mavlink.MAV_FRAME_MISSION:
        scale = 1
    return dict(
        frame=waypoint.frame,
        command=waypoint.command,
        current=int(current),
        autocontinue=int(waypoint.autocontinue),
        param1=waypoint.param1,
        param2=waypoint.param2,
        param3=waypoint.param3,
        param4=waypoint.param4,
        x=_degrees(waypoint.x_lat, scale),
        y=_degrees(waypoint.y_long, scale),
        z=waypoint.z_alt,
    )


def waypoint(item: Any) -> tuple:
    """The numbers of a mavros_msgs/Waypoint from a MISSION_ITEM_INT."""
    scale = 1e-4 if item.frame in _LOCAL_FRAMES else 1e-7
    if item.frame == mavlink.MAV_FRAME_MISSION:
        scale = 1
    return (
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


_LOCAL_FRAMES = (
    mavlink.MAV_FRAME_LOCAL_NED,
    mavlink.MAV_FRAME_LOCAL_ENU,
    mavlink.MAV_FRAME_LOCAL_OFFSET_NED,
    mavlink.MAV_FRAME_BODY_NED,
    mavlink.MAV_FRAME_BODY_OFFSET_NED,
)
