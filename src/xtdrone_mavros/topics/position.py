"""Topics about where the vehicle is: local and global position, receivers, home, heights."""

from .. import convert, ros_serialisation as ros
from ..mavlink_link import unpack
from .row import BODY, MAP, Topic, copied

_ROTATION_COV = 99999.0  # MAVROS's, where nothing is known of an attitude [rad^2]
_NO_COV = (0.0,) * 9
_UNKNOWN_COV = (-1.0,) + (0.0,) * 35
_POSE = ros.struct.Struct("<7d36d").pack
_TWIST = ros.struct.Struct("<6d36d").pack
_FLOAT64 = ros.struct.Struct("<d").pack
_UINT32 = ros.struct.Struct("<I").pack
_GPS, _GPS2 = 24, 124  # GPS_RAW_INT, GPS2_RAW


def _pose(v, payload):
    t, pos, _ = v.read(convert.local_position, payload)
    return ros.pose_stamped(v.stamp(t), MAP, pos, v.attitude()[1])


def _velocity_local(v, payload):
    t, _, vel = v.read(convert.local_position, payload)
    _, quat, rate = v.attitude()
    return ros.twist_stamped(v.stamp(t), BODY, vel, convert.rotate(quat, rate))


def _velocity_body(v, payload):
    t, _, vel = v.read(convert.local_position, payload)
    _, quat, rate = v.attitude()
    return ros.twist_stamped(v.stamp(t), BODY, convert.rotate_back(quat, vel), rate)


def _odometry(v, payload):
    t, pos, vel = v.read(convert.local_position, payload)
    _, quat, rate = v.attitude()
    return ros.odometry(v.stamp(t), MAP, BODY, pos, quat, convert.rotate_back(quat, vel), rate)


def _covariant(v, payload):
    """LOCAL_POSITION_NED_COV as (t_us, pos, quat, body velocity, body rates, deviations)."""
    t, x, y, z, vx, vy, vz, ax, ay, az, *cov, _ = unpack(64, payload)
    _, quat, rate = v.attitude()
    vel = convert.rotate_back(quat, (vy, vx, -vz))
    return v.stamp(t), (y, x, -z), quat, vel, rate, (ay, ax, -az), cov


def _diagonal(cov, first, second, third):
    """A 6 by 6 covariance of which MAVROS fills three elements of the diagonal."""
    out = [0.0] * 36
    out[0], out[7], out[14] = cov[first], cov[second], cov[third]
    return out


def _pose_covariance(v, payload):
    t_us, pos, quat, *_, cov = _covariant(v, payload)
    return ros.header(t_us, MAP) + _POSE(*pos, *quat, *_diagonal(cov, 0, 9, 17))


def _velocity_covariance(v, payload):
    t_us, _, _, vel, rate, _, cov = _covariant(v, payload)
    return ros.header(t_us, BODY) + _TWIST(*vel, *rate, *_diagonal(cov, 24, 30, 35))


def _acceleration(v, payload):
    t_us, *_, acc, cov = _covariant(v, payload)
    return ros.header(t_us, MAP) + _TWIST(*acc, 0.0, 0.0, 0.0, *_diagonal(cov, 39, 42, 44))


def _odometry_in(v, payload):
    t, pos, quat, vel, rate, pose_cov, twist_cov = convert.odometry(payload)
    # NaN of one element goes to all, as it does in MAVROS.
    return b"".join(
        (
            ros.header(v.stamp(t), MAP),
            ros.text(BODY),
            _POSE(*pos, *quat, *pose_cov),
            _TWIST(*vel, *rate, *twist_cov),
        )
    )


def _global(v, payload):
    t, lat, lon, alt, *_ = v.read(convert.global_position, payload)
    status, covariance, kind = v.fix
    return ros.nav_sat_fix(
        v.stamp(t), BODY, status, lat, lon, convert.above_ellipsoid(lat, lon, alt), covariance, kind
    )


def _global_local(v, payload):
    t, lat, lon, alt, relative, (east, north, up), _ = v.read(convert.global_position, payload)
    here = lat, lon, convert.above_ellipsoid(lat, lon, alt)
    if v.map_origin is None:
        v.map_origin = here
    x, y, _ = convert.enu_from(v.map_origin, here)
    h, _, _, _, _, _, _, _, vertical = v.fix[1]
    cov = _diagonal_pose(h, vertical)
    # MAVROS leaves the vertical velocity as MAVLink has it: downwards.
    return b"".join(
        (
            ros.header(v.stamp(t), MAP),
            ros.text(BODY),
            _POSE(x, y, relative, *v.attitude()[1], *cov),
            _TWIST(east, north, -up, 0.0, 0.0, 0.0, *_UNKNOWN_COV),
        )
    )


def _diagonal_pose(horizontal, vertical):
    out = [0.0] * 36
    out[0] = out[7] = horizontal
    out[14] = vertical
    out[21] = out[28] = out[35] = _ROTATION_COV
    return out


def _relative_altitude(v, payload):
    return _FLOAT64(v.read(convert.global_position, payload)[4])


def _compass(v, payload):
    return _FLOAT64(v.read(convert.global_position, payload)[6])


def fix_of(payload: bytes) -> tuple:
    """Status, covariance and its type of a NavSatFix, from GPS_RAW_INT."""
    _, fix, _, _, _, accuracy, dilution, _, _ = convert.gps_raw(payload)
    covariance, kind = _NO_COV, 0
    if accuracy or dilution:
        h, v = accuracy or dilution
        covariance, kind = ros.diagonal(h * h, h * h, v * v), 2 if accuracy else 1
    return 0 if fix > 2 else -1, covariance, kind


NO_FIX = (-1, _NO_COV, 0)  # before the receiver has said anything


def _raw_fix(v, payload):
    t, _, lat, lon, alt, *_ = v.read(convert.gps_raw, payload)
    status, covariance, kind = v.fix
    return ros.nav_sat_fix(
        v.stamp(t), BODY, status, lat, lon, convert.above_ellipsoid(lat, lon, alt), covariance, kind
    )


def _raw_velocity(v, payload):
    t, *_, velocity, _ = v.read(convert.gps_raw, payload)
    if not velocity:
        return None
    return ros.twist_stamped(v.stamp(t), MAP, (*velocity, 0.0), (0.0, 0.0, 0.0))


def _satellites(v, payload):
    return _UINT32(v.read(convert.gps_raw, payload)[-1])


def _origin(v, payload):
    lat, lon, alt, _ = unpack(49, payload)
    lat, lon = lat * 1e-7, lon * 1e-7
    return ros.fields(
        v.now_us, "earth", "3d", lat, lon, convert.above_ellipsoid(lat, lon, alt * 1e-3)
    )


def _offset(v, payload):
    t, x, y, z, *angles = unpack(89, payload)
    return ros.pose_stamped(
        v.stamp(t * 1000), "earth", (y, x, -z), convert.quat_enu_ned(convert.quaternion(*angles))
    )


def _gps_raw(number):
    """A builder of GPSRAW from GPS_RAW_INT or GPS2_RAW."""

    def build(v, payload):
        m = v.decoded()
        differential = (m.dgps_numch, m.dgps_age) if number == _GPS2 else (255, 2**32 - 1)
        return ros.fields(
            v.stamp(m.time_usec),
            "/wgs84",
            "B3i4HBi3IiHBI",
            m.fix_type,
            m.lat,
            m.lon,
            m.alt,
            m.eph,
            m.epv,
            m.vel,
            m.cog,
            m.satellites_visible,
            m.alt_ellipsoid,
            m.h_acc,
            m.v_acc,
            m.vel_acc,
            m.hdg_acc,
            m.yaw,
            *differential,
        )

    return build


def _rtk(v, payload):
    m = v.decoded()
    frame = MAP if m.baseline_coords_type else "earth"
    return ros.fields(
        v.stamp(m.time_last_baseline_ms * 1000),
        frame,
        "BHI3B3iIi",
        m.rtk_receiver_id,
        m.wn,
        m.tow,
        m.rtk_health,
        m.rtk_rate,
        m.nsats,
        m.baseline_a_mm,
        m.baseline_b_mm,
        m.baseline_c_mm,
        m.accuracy,
        m.iar_num_hypotheses,
    )


def _home(v, payload):
    lat, lon, alt, pos, quat, approach = convert.home(payload)
    return ros.fields(
        v.now_us,
        "",
        "13d",
        lat,
        lon,
        convert.above_ellipsoid(lat, lon, alt),
        *pos,
        *quat,
        *approach,
    )


def _vfr_hud(v, payload):
    air, ground, alt, climb, heading, throttle = unpack(74, payload)
    return ros.fields(v.now_us, "", "2fh3f", air, ground, heading, throttle / 100.0, alt, climb)


def _terrain(v, payload):
    lat, lon, terrain, current, spacing, pending, loaded = unpack(136, payload)
    return ros.fields(
        v.now_us,
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


def _wind(v, payload):
    t, x, y, z, horizontal, vertical, *_ = unpack(231, payload)
    cov = [0.0] * 36
    cov[0], cov[14] = horizontal, vertical
    return ros.header(v.stamp(t), "") + _TWIST(y, x, -z, 0.0, 0.0, 0.0, *cov)


TOPICS = (
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
