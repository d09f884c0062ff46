"""Topics about position: local and global position, GNSS receivers, home, heights, wind."""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .. import ros_serialisation as ros
from ..convert import decode, geometry
from ..convert.geometry import Quaternion, Vector
from ..mavlink_link import unpack
from ..rows import Topic
from ..vehicle import Vehicle
from .builders import BODY, MAP, copied

_ROTATION_COV = 99999.0  # MAVROS's, where nothing is known of an attitude [rad^2]
_UNKNOWN_COV = (-1.0,) + (0.0,) * 35
_POSE = struct.Struct("<7d36d").pack
_TWIST = struct.Struct("<6d36d").pack
_FLOAT64 = struct.Struct("<d").pack
_UINT32 = struct.Struct("<I").pack
_GPS, _GPS2 = 24, 124  # GPS_RAW_INT, GPS2_RAW


def _pose(vehicle: Vehicle, payload: bytes) -> bytes:
    t, pos, _ = vehicle.read(decode.local_position, payload)
    return ros.pose_stamped(vehicle.stamp(t), MAP, pos, vehicle.attitude()[1])


def _velocity_local(vehicle: Vehicle, payload: bytes) -> bytes:
    t, _, vel = vehicle.read(decode.local_position, payload)
    _, quat, rate = vehicle.attitude()
    return ros.twist_stamped(vehicle.stamp(t), BODY, vel, geometry.rotate(quat, rate))


def _velocity_body(vehicle: Vehicle, payload: bytes) -> bytes:
    t, _, vel = vehicle.read(decode.local_position, payload)
    _, quat, rate = vehicle.attitude()
    return ros.twist_stamped(vehicle.stamp(t), BODY, geometry.rotate_inverse(quat, vel), rate)


def _odometry(vehicle: Vehicle, payload: bytes) -> bytes:
    t, pos, vel = vehicle.read(decode.local_position, payload)
    _, quat, rate = vehicle.attitude()
    return ros.odometry(
        vehicle.stamp(t), MAP, BODY, pos, quat, geometry.rotate_inverse(quat, vel), rate
    )


class _Covariant(NamedTuple):
    """LOCAL_POSITION_NED_COV and the attitude."""

    t_us: int
    pos: Vector
    quat: Quaternion
    vel: Vector  # body
    rate: Vector  # body
    acc: Vector
    covariance: Sequence[float]


def _covariant(vehicle: Vehicle, payload: bytes) -> _Covariant:
    t, x, y, z, vx, vy, vz, ax, ay, az, *cov, _ = unpack(64, payload)
    _, quat, rate = vehicle.attitude()
    vel = geometry.rotate_inverse(quat, (vy, vx, -vz))
    return _Covariant(vehicle.stamp(t), (y, x, -z), quat, vel, rate, (ay, ax, -az), cov)


def _diagonal(cov: Sequence[float], first: int, second: int, third: int) -> list[float]:
    """Returns a 6 by 6 covariance of which MAVROS fills three elements of the diagonal."""
    out = [0.0] * 36
    out[0], out[7], out[14] = cov[first], cov[second], cov[third]
    return out


def _pose_covariance(vehicle: Vehicle, payload: bytes) -> bytes:
    t_us, pos, quat, *_, cov = _covariant(vehicle, payload)
    return ros.header(t_us, MAP) + _POSE(*pos, *quat, *_diagonal(cov, 0, 9, 17))


def _velocity_covariance(vehicle: Vehicle, payload: bytes) -> bytes:
    t_us, _, _, vel, rate, _, cov = _covariant(vehicle, payload)
    return ros.header(t_us, BODY) + _TWIST(*vel, *rate, *_diagonal(cov, 24, 30, 35))


def _acceleration(vehicle: Vehicle, payload: bytes) -> bytes:
    t_us, *_, acc, cov = _covariant(vehicle, payload)
    return ros.header(t_us, MAP) + _TWIST(*acc, 0.0, 0.0, 0.0, *_diagonal(cov, 39, 42, 44))


def _odometry_in(vehicle: Vehicle, payload: bytes) -> bytes:
    t, pos, quat, vel, rate, pose_cov, twist_cov = decode.odometry(payload)
    # NaN of one element goes to all, as it does in MAVROS.
    return b"".join(
        (
            ros.header(vehicle.stamp(t), MAP),
            ros.text(BODY),
            _POSE(*pos, *quat, *pose_cov),
            _TWIST(*vel, *rate, *twist_cov),
        )
    )


def _global(vehicle: Vehicle, payload: bytes) -> bytes:
    t, lat, lon, alt, *_ = vehicle.read(decode.global_position, payload)
    status, covariance, kind = vehicle.fix
    return ros.nav_sat_fix(
        vehicle.stamp(t),
        BODY,
        status,
        lat,
        lon,
        geometry.above_ellipsoid(lat, lon, alt),
        covariance,
        kind,
    )


def _global_local(vehicle: Vehicle, payload: bytes) -> bytes:
    t, lat, lon, alt, relative, (east, north, up), _ = vehicle.read(decode.global_position, payload)
    here = lat, lon, geometry.above_ellipsoid(lat, lon, alt)
    if vehicle.map_origin is None:
        vehicle.map_origin = here
    x, y, _ = geometry.geodetic_to_enu(vehicle.map_origin, here)
    h, _, _, _, _, _, _, _, vertical = vehicle.fix[1]
    cov = _diagonal_pose(h, vertical)
    # MAVROS leaves the vertical velocity as MAVLink has it: downwards.
    return b"".join(
        (
            ros.header(vehicle.stamp(t), MAP),
            ros.text(BODY),
            _POSE(x, y, relative, *vehicle.attitude()[1], *cov),
            _TWIST(east, north, -up, 0.0, 0.0, 0.0, *_UNKNOWN_COV),
        )
    )


def _diagonal_pose(horizontal: float, vertical: float) -> list[float]:
    out = [0.0] * 36
    out[0] = out[7] = horizontal
    out[14] = vertical
    out[21] = out[28] = out[35] = _ROTATION_COV
    return out


def _relative_altitude(vehicle: Vehicle, payload: bytes) -> bytes:
    return _FLOAT64(vehicle.read(decode.global_position, payload)[4])


def _compass(vehicle: Vehicle, payload: bytes) -> bytes:
    return _FLOAT64(vehicle.read(decode.global_position, payload)[6])


def _raw_fix(vehicle: Vehicle, payload: bytes) -> bytes:
    t, _, lat, lon, alt, *_ = vehicle.read(decode.gps_raw, payload)
    status, covariance, kind = vehicle.fix
    return ros.nav_sat_fix(
        vehicle.stamp(t),
        BODY,
        status,
        lat,
        lon,
        geometry.above_ellipsoid(lat, lon, alt),
        covariance,
        kind,
    )


def _raw_velocity(vehicle: Vehicle, payload: bytes) -> bytes | None:
    t, *_, velocity, _ = vehicle.read(decode.gps_raw, payload)
    if not velocity:
        return None
    return ros.twist_stamped(vehicle.stamp(t), MAP, (*velocity, 0.0), (0.0, 0.0, 0.0))


def _satellites(vehicle: Vehicle, payload: bytes) -> bytes:
    return _UINT32(vehicle.read(decode.gps_raw, payload)[-1])


def _origin(vehicle: Vehicle, payload: bytes) -> bytes:
    lat, lon, alt, _ = unpack(49, payload)
    lat, lon = lat * 1e-7, lon * 1e-7
    return ros.fields(
        vehicle.now_us, "earth", "3d", lat, lon, geometry.above_ellipsoid(lat, lon, alt * 1e-3)
    )


def _offset(vehicle: Vehicle, payload: bytes) -> bytes:
    t, x, y, z, *angles = unpack(89, payload)
    return ros.pose_stamped(
        vehicle.stamp(t * 1000),
        "earth",
        (y, x, -z),
        geometry.quat_enu_ned(geometry.quaternion_from_euler(*angles)),
    )


def _gps_raw(number: int) -> Callable[[Vehicle, bytes], bytes]:
    """Returns a builder of GPSRAW from GPS_RAW_INT or GPS2_RAW."""

    def build(vehicle: Vehicle, payload: bytes) -> bytes:
        message = vehicle.decoded()
        differential = (
            (message.dgps_numch, message.dgps_age) if number == _GPS2 else (255, 2**32 - 1)
        )
        return ros.fields(
            vehicle.stamp(message.time_usec),
            "/wgs84",
            "B3i4HBi3IiHBI",
            message.fix_type,
            message.lat,
            message.lon,
            message.alt,
            message.eph,
            message.epv,
            message.vel,
            message.cog,
            message.satellites_visible,
            message.alt_ellipsoid,
            message.h_acc,
            message.v_acc,
            message.vel_acc,
            message.hdg_acc,
            message.yaw,
            *differential,
        )

    return build


def _rtk(vehicle: Vehicle, payload: bytes) -> bytes:
    message = vehicle.decoded()
    frame = MAP if message.baseline_coords_type else "earth"
    return ros.fields(
        vehicle.stamp(message.time_last_baseline_ms * 1000),
        frame,
        "BHI3B3iIi",
        message.rtk_receiver_id,
        message.wn,
        message.tow,
        message.rtk_health,
        message.rtk_rate,
        message.nsats,
        message.baseline_a_mm,
        message.baseline_b_mm,
        message.baseline_c_mm,
        message.accuracy,
        message.iar_num_hypotheses,
    )


def _home(vehicle: Vehicle, payload: bytes) -> bytes:
    lat, lon, alt, pos, quat, approach = decode.home(payload)
    return ros.fields(
        vehicle.now_us,
        "",
        "13d",
        lat,
        lon,
        geometry.above_ellipsoid(lat, lon, alt),
        *pos,
        *quat,
        *approach,
    )


def _vfr_hud(vehicle: Vehicle, payload: bytes) -> bytes:
    air, ground, alt, climb, heading, throttle = unpack(74, payload)
    return ros.fields(
        vehicle.now_us, "", "2fh3f", air, ground, heading, throttle / 100.0, alt, climb
    )


def _terrain(vehicle: Vehicle, payload: bytes) -> bytes:
    lat, lon, terrain, current, spacing, pending, loaded = unpack(136, payload)
    return ros.fields(
        vehicle.now_us,
        "terrain",
        "2dH2f2H",
        lat * 1e-7,
        lon * 1e-7,
        spacing,
        terrain,
        current,
        pending,
        loaded,
    )


def _wind(vehicle: Vehicle, payload: bytes) -> bytes:
    t, x, y, z, horizontal, vertical, *_ = unpack(231, payload)
    cov = [0.0] * 36
    cov[0], cov[14] = horizontal, vertical
    return ros.header(vehicle.stamp(t), "") + _TWIST(y, x, -z, 0.0, 0.0, 0.0, *cov)


TOPICS: tuple[Topic[Vehicle], ...] = (
    Topic("local_position/pose", "geometry_msgs/PoseStamped", "LOCAL_POSITION_NED", _pose, 30),
    Topic(
        "local_position/velocity_local",
        "geometry_msgs/TwistStamped",
        "LOCAL_POSITION_NED",
        _velocity_local,
        30,
    ),
    Topic(
        "local_position/velocity_body",
        "geometry_msgs/TwistStamped",
        "LOCAL_POSITION_NED",
        _velocity_body,
        30,
    ),
    Topic("local_position/odom", "nav_msgs/Odometry", "LOCAL_POSITION_NED", _odometry, 30),
    Topic(
        "local_position/pose_cov",
        "geometry_msgs/PoseWithCovarianceStamped",
        "LOCAL_POSITION_NED_COV",
        _pose_covariance,
    ),
    Topic(
        "local_position/velocity_body_cov",
        "geometry_msgs/TwistWithCovarianceStamped",
        "LOCAL_POSITION_NED_COV",
        _velocity_covariance,
    ),
    Topic(
        "local_position/accel",
        "geometry_msgs/AccelWithCovarianceStamped",
        "LOCAL_POSITION_NED_COV",
        _acceleration,
    ),
    Topic("odometry/in", "nav_msgs/Odometry", "ODOMETRY", _odometry_in, 30),
    Topic("global_position/global", "sensor_msgs/NavSatFix", "GLOBAL_POSITION_INT", _global, 50),
    Topic("global_position/local", "nav_msgs/Odometry", "GLOBAL_POSITION_INT", _global_local, 50),
    Topic(
        "global_position/rel_alt", "std_msgs/Float64", "GLOBAL_POSITION_INT", _relative_altitude, 50
    ),
    Topic("global_position/compass_hdg", "std_msgs/Float64", "GLOBAL_POSITION_INT", _compass, 50),
    Topic("global_position/raw/fix", "sensor_msgs/NavSatFix", "GPS_RAW_INT", _raw_fix, 10),
    Topic(
        "global_position/raw/gps_vel",
        "geometry_msgs/TwistStamped",
        "GPS_RAW_INT",
        _raw_velocity,
        10,
    ),
    Topic("global_position/raw/satellites", "std_msgs/UInt32", "GPS_RAW_INT", _satellites, 10),
    Topic(
        "global_position/gp_origin",
        "geographic_msgs/GeoPointStamped",
        "GPS_GLOBAL_ORIGIN",
        _origin,
        latched=True,
    ),
    Topic(
        "global_position/gp_lp_offset",
        "geometry_msgs/PoseStamped",
        "LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET",
        _offset,
    ),
    Topic("gpsstatus/gps1/raw", "mavros_msgs/GPSRAW", "GPS_RAW_INT", _gps_raw(_GPS), 10),
    Topic("gpsstatus/gps1/rtk", "mavros_msgs/GPSRTK", "GPS_RTK", _rtk),
    Topic("gpsstatus/gps2/raw", "mavros_msgs/GPSRAW", "GPS2_RAW", _gps_raw(_GPS2)),
    Topic("gpsstatus/gps2/rtk", "mavros_msgs/GPSRTK", "GPS2_RTK", _rtk),
    Topic(
        "gps_rtk/rtk_baseline",
        "mavros_msgs/RTKBaseline",
        "GPS_RTK",
        copied(
            "GPS_RTK",
            "IBHI4B3iIi",
            "time_last_baseline_ms rtk_receiver_id wn tow rtk_health "
            "rtk_rate nsats baseline_coords_type baseline_a_mm baseline_b_mm baseline_c_mm "
            "accuracy iar_num_hypotheses",
        ),
        latched=True,
    ),
    Topic(
        "home_position/home", "mavros_msgs/HomePosition", "HOME_POSITION", _home, 0.5, latched=True
    ),
    Topic(
        "altitude",
        "mavros_msgs/Altitude",
        "ALTITUDE",
        copied(
            "ALTITUDE",
            "6f",
            "altitude_monotonic altitude_amsl altitude_local "
            "altitude_relative altitude_terrain bottom_clearance",
            "time_usec",
            MAP,
        ),
        10,
    ),
    Topic("vfr_hud", "mavros_msgs/VFR_HUD", "VFR_HUD", _vfr_hud, 10),
    Topic("terrain/report", "mavros_msgs/TerrainReport", "TERRAIN_REPORT", _terrain),
    Topic("wind_estimation", "geometry_msgs/TwistWithCovarianceStamped", "WIND_COV", _wind, 10),
)
