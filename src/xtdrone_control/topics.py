"""Topics published by the bridge: MAVROS 1's topics of each vehicle, one row each.

To add one, write a function that builds its bytes (ros_serialisation) from a vehicle and the
payload of a MAVLink message, and its row in TOPICS. Inputs and services are in inputs.py and
services.py.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xtdrone_core.mavlink_client import param_value

from . import mavlink_convert as convert, ros_serialisation as ros
from .mavlink_link import unpack

MAP, BODY = "map", "base_link"  # MAVROS's frames, the same for every vehicle
# MAVROS's standard deviations of imu/*, for whoever reads its covariances.
_ACCEL_COV = ros.diagonal(*(0.0003 ** 2,) * 3)
_RATE_COV = ros.diagonal(*(0.0003490659 ** 2,) * 3)
_ATTITUDE_COV = ros.diagonal(1.0, 1.0, 1.0)
_NO_COV = (0.0,) * 9
_FLOAT64 = ros.struct.Struct("<d").pack
_UINT32 = ros.struct.Struct("<I").pack


@dataclass(frozen=True)
class Topic:
    """One topic below V/mavros/ that the bridge publishes."""

    name: str
    type: str
    message: str  # of MAVLink, with which it goes out
    build: Callable  # of the bridge's Vehicle and that message's payload; gives bytes, or None
    rate: float = 0.0  # of that message on the bridge's link [Hz]; 0 = when there is something new
    latched: bool = False  # and built also where nobody listens


def _state(v, payload):
    return v.state


def _extended_state(v, payload):
    return ros.fields(v.now_us, "", "BB", *unpack(245, payload))


def _status_text(v, payload):
    return None if v.text is None else ros.status_text(v.now_us, *v.text)


def _battery(v, payload):
    number, volts, amperes, left, cells = convert.battery(payload)
    return ros.battery_state(v.now_us, "", volts, amperes, left, cells, f"id{number}")


def _estimator_status(v, payload):
    t, *_, flags = unpack(230, payload)
    return ros.fields(v.stamp(t), "", "12B", *(flags >> bit & 1 for bit in range(12)))


def _time_reference(v, payload):
    unix, boot = unpack(2, payload)
    return ros.time_reference(v.stamp(boot * 1000), unix, "fcu")


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


def _global(v, payload):
    t, lat, lon, alt, *_ = v.read(convert.global_position, payload)
    status, covariance, kind = v.fix
    return ros.nav_sat_fix(v.stamp(t), BODY, status, lat, lon, alt + v.geoid, covariance, kind)


def _relative_altitude(v, payload):
    return _FLOAT64(v.read(convert.global_position, payload)[4])


def _compass(v, payload):
    return _FLOAT64(v.read(convert.global_position, payload)[6])


def fix_of(payload: bytes) -> tuple:
    """Status, covariance and its type of a NavSatFix, from GPS_RAW_INT; and the geoid's height."""
    _, fix, _, _, _, geoid, accuracy, dilution, _, _ = convert.gps_raw(payload)
    covariance, kind = _NO_COV, 0
    if accuracy or dilution:
        h, v = accuracy or dilution
        covariance, kind = ros.diagonal(h * h, h * h, v * v), 2 if accuracy else 1
    return (0 if fix > 2 else -1, covariance, kind), geoid


NO_FIX = (-1, _NO_COV, 0)  # before the receiver has said anything


def _raw_fix(v, payload):
    t, _, lat, lon, alt, *_ = v.read(convert.gps_raw, payload)
    status, covariance, kind = v.fix
    return ros.nav_sat_fix(v.stamp(t), BODY, status, lat, lon, alt + v.geoid, covariance, kind)


def _raw_velocity(v, payload):
    t, *_, velocity, _ = v.read(convert.gps_raw, payload)
    if not velocity:
        return None
    return ros.twist_stamped(v.stamp(t), MAP, (*velocity, 0.0), (0.0, 0.0, 0.0))


def _satellites(v, payload):
    return _UINT32(v.read(convert.gps_raw, payload)[-1])


def _origin(v, payload):
    lat, lon, alt, _ = unpack(49, payload)
    return ros.fields(v.now_us, "earth", "3d", lat * 1e-7, lon * 1e-7, alt * 1e-3 + v.geoid)


def _imu(v, payload):
    t, quat, rate = v.attitude()
    return ros.imu(v.stamp(t), BODY, quat, _ATTITUDE_COV, rate, _RATE_COV, v.acceleration(),
                    _ACCEL_COV)


def _of_imu(bits, build):
    """A topic of HIGHRES_IMU, where the bits of fields_updated that it needs are set."""
    def build_where_new(v, payload):
        imu = v.read(convert.highres_imu, v.imu_payload)
        return build(v.stamp(imu[0]), imu) if imu[7] & bits else None

    return build_where_new


_raw_imu = _of_imu(0x3F, lambda t, imu: ros.imu(t, BODY, None, None, imu[2], _RATE_COV, imu[1],
                                                 _ACCEL_COV))
_field = _of_imu(0x1C0, lambda t, imu: ros.magnetic_field(t, BODY, imu[3], _NO_COV))
_pressure = _of_imu(0x200, lambda t, imu: ros.fields(t, BODY, "2d", imu[4], 0.0))
_differential = _of_imu(0x400, lambda t, imu: ros.fields(t, BODY, "2d", imu[5], 0.0))
_temperature = _of_imu(0x1000, lambda t, imu: ros.fields(t, BODY, "2d", imu[6], 0.0))


def _home(v, payload):
    lat, lon, alt, pos, quat, approach = convert.home(payload)
    return ros.fields(v.now_us, MAP, "13d", lat, lon, alt + v.geoid, *pos, *quat, *approach)


def _altitude(v, payload):
    t, *heights = unpack(141, payload)
    return ros.fields(v.stamp(t), MAP, "6f", *heights)


def _vfr_hud(v, payload):
    air, ground, alt, climb, heading, throttle = unpack(74, payload)
    return ros.fields(v.now_us, "", "2fh3f", air, ground, heading, throttle / 100.0, alt, climb)


def _servos(v, payload):
    values = unpack(36, payload)
    return ros.fields(v.stamp(values[0]), "", "I16H", 16, *values[1:9], *values[10:18])


def _position_target(v, payload):
    return ros.position_target(v.now_us, MAP, *convert.position_target(payload)[1:])


def _attitude_target(v, payload):
    t, mask, quat, rate, thrust = convert.attitude_target(payload)
    return ros.fields(v.stamp(t), "", "B7df", mask, *quat, *rate, thrust)


def _parameter(v, payload):
    message = v.decoded()
    value = param_value(message)
    integer, real = (0, value) if isinstance(value, float) else (value, 0.0)
    return ros.param(v.now_us, message.param_id, integer, real, message.param_index,
                      message.param_count)


def _waypoints(v, payload):
    return v.mission


def _reached(v, payload):
    return ros.fields(v.now_us, "", "H", *unpack(46, payload))


TOPICS = (
    Topic("state", "mavros_msgs/State", "HEARTBEAT", _state, 1, latched=True),
    Topic("extended_state", "mavros_msgs/ExtendedState", "EXTENDED_SYS_STATE", _extended_state, 2),
    Topic("statustext/recv", "mavros_msgs/StatusText", "STATUSTEXT", _status_text),
    Topic("battery", "sensor_msgs/BatteryState", "BATTERY_STATUS", _battery, 0.5),
    Topic("estimator_status", "mavros_msgs/EstimatorStatus", "ESTIMATOR_STATUS",
          _estimator_status, 0.5),
    Topic("time_reference", "sensor_msgs/TimeReference", "SYSTEM_TIME", _time_reference),
    Topic("local_position/pose", "geometry_msgs/PoseStamped", "LOCAL_POSITION_NED", _pose, 50),
    Topic("local_position/velocity_local", "geometry_msgs/TwistStamped", "LOCAL_POSITION_NED",
          _velocity_local, 50),
    Topic("local_position/velocity_body", "geometry_msgs/TwistStamped", "LOCAL_POSITION_NED",
          _velocity_body, 50),
    Topic("local_position/odom", "nav_msgs/Odometry", "LOCAL_POSITION_NED", _odometry, 50),
    Topic("global_position/global", "sensor_msgs/NavSatFix", "GLOBAL_POSITION_INT", _global, 10),
    Topic("global_position/rel_alt", "std_msgs/Float64", "GLOBAL_POSITION_INT",
          _relative_altitude, 10),
    Topic("global_position/compass_hdg", "std_msgs/Float64", "GLOBAL_POSITION_INT", _compass, 10),
    Topic("global_position/raw/fix", "sensor_msgs/NavSatFix", "GPS_RAW_INT", _raw_fix, 5),
    Topic("global_position/raw/gps_vel", "geometry_msgs/TwistStamped", "GPS_RAW_INT",
          _raw_velocity, 5),
    Topic("global_position/raw/satellites", "std_msgs/UInt32", "GPS_RAW_INT", _satellites, 5),
    Topic("global_position/gp_origin", "geographic_msgs/GeoPointStamped", "GPS_GLOBAL_ORIGIN",
          _origin, latched=True),
    Topic("imu/data", "sensor_msgs/Imu", "ATTITUDE_QUATERNION", _imu, 50),
    Topic("imu/data_raw", "sensor_msgs/Imu", "HIGHRES_IMU", _raw_imu, 50),
    Topic("imu/mag", "sensor_msgs/MagneticField", "HIGHRES_IMU", _field, 50),
    Topic("imu/static_pressure", "sensor_msgs/FluidPressure", "HIGHRES_IMU", _pressure, 50),
    Topic("imu/diff_pressure", "sensor_msgs/FluidPressure", "HIGHRES_IMU", _differential, 50),
    Topic("imu/temperature_imu", "sensor_msgs/Temperature", "HIGHRES_IMU", _temperature, 50),
    Topic("home_position/home", "mavros_msgs/HomePosition", "HOME_POSITION", _home, 0.5,
          latched=True),
    Topic("altitude", "mavros_msgs/Altitude", "ALTITUDE", _altitude, 1),
    Topic("vfr_hud", "mavros_msgs/VFR_HUD", "VFR_HUD", _vfr_hud, 1),
    Topic("rc/out", "mavros_msgs/RCOut", "SERVO_OUTPUT_RAW", _servos),
    Topic("setpoint_raw/target_local", "mavros_msgs/PositionTarget", "POSITION_TARGET_LOCAL_NED",
          _position_target, 5),
    Topic("setpoint_raw/target_attitude", "mavros_msgs/AttitudeTarget", "ATTITUDE_TARGET",
          _attitude_target),
    Topic("param/param_value", "mavros_msgs/Param", "PARAM_VALUE", _parameter),
    Topic("mission/waypoints", "mavros_msgs/WaypointList", "MISSION_CURRENT", _waypoints,
          latched=True),
    Topic("mission/reached", "mavros_msgs/WaypointReached", "MISSION_ITEM_REACHED", _reached,
          latched=True),
)
