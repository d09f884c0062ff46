"""Inputs that tell the vehicle where it is and what is around it: poses, receivers, sensors."""

import math
from typing import Any

import numpy as np

from xtdrone_core.mavlink.dialect import mavlink

from .. import convert
from .row import Subscription, quat, time_us, xyz

FIX_PERIOD_US = 200_000  # between two of gps_input and fake_gps, as in MAVROS [us]
FAKE_ORIGIN = 47.3667, 8.55, 408.0  # of fake_gps: Zurich [deg, m above the ellipsoid]
_FAKE_ERROR_CM, _FAKE_SATELLITES, _FAKE_FIX = 200, 5, 3  # of fake_gps
_RTCM_PART, _RTCM_PARTS = 180, 4  # bytes in one GPS_RTCM_DATA, messages of one fragmented text
_DISTANCES, _UNKNOWN = 72, 0xFFFF  # of OBSTACLE_DISTANCE
_TARGET_SIZE_M = 0.3
_TARGET_NUMBER = ord("1")  # MAVROS takes the last letter of "landing_target_1"
_CHANNELS = 12  # of HIL_RC_INPUTS_RAW
_FLOW_SENSOR = 127  # id of a simulated optical flow
_WORLD = {"odom": True, "map": True, "odom_ned": False, "map_ned": False}  # frame: is it ENU
_BODY = {"base_link": True, "base_link_frd": False}  # frame: is it FLU


def vision_pose(v: Any, m: Any) -> None:
    _send_vision(v, m.header, m.pose, None)


def vision_pose_cov(v: Any, m: Any) -> None:
    full = convert.turned(m.pose.covariance, convert.NED_ENU)
    _send_vision(v, m.header, m.pose.pose, convert.upper_triangle(full))


def _send_vision(v, header, pose, covariance):
    v.link.send(
        v.index,
        convert.vision_position(
            time_us(header) or v.now_us, xyz(pose.position), quat(pose.orientation), covariance
        ),
    )


def vision_speed(v: Any, m: Any) -> None:
    full = np.reshape(m.twist.covariance, (6, 6))[:3, :3]
    covariance = convert.NED_ENU @ full @ convert.NED_ENU.T
    v.link.send(
        v.index,
        mavlink.MAVLink_vision_speed_estimate_message(
            time_us(m.header),
            *convert.enu_ned(xyz(m.twist.twist.linear)),
            covariance.ravel().tolist(),
        ),
    )


def mocap_pose(v: Any, m: Any) -> None:
    x, y, z, w = convert.quat_enu_ned(quat(m.pose.orientation))
    v.link.send(
        v.index,
        mavlink.MAVLink_att_pos_mocap_message(
            time_us(m.header), [w, x, y, z], *convert.enu_ned(xyz(m.pose.position))
        ),
    )


def odometry_out(v: Any, m: Any) -> None:
    """Frames are those of MAVROS's static transforms; map counts as odom."""
    enu, flu = _WORLD.get(m.header.frame_id), _BODY.get(m.child_frame_id)
    if enu is None or flu is None:
        v.host.log(
            v.name,
            mavlink.MAV_SEVERITY_ERROR,
            f"odometry/out from '{m.header.frame_id}' to '{m.child_frame_id}': give it "
            f"from {', '.join(_WORLD)} to {', '.join(_BODY)}",
        )
        return
    world, body = (convert.NED_ENU if enu else np.eye(3)), (convert.FRD_FLU if flu else np.eye(3))
    attitude = quat(m.pose.pose.orientation)
    if enu:
        attitude = convert.product(convert.TO_NED, attitude)
    if flu:
        attitude = convert.product(attitude, convert.TO_FLU)
    x, y, z, w = attitude
    twist = m.twist.twist
    v.link.send(
        v.index,
        mavlink.MAVLink_odometry_message(
            time_us(m.header),
            mavlink.MAV_FRAME_LOCAL_FRD,
            mavlink.MAV_FRAME_BODY_FRD,
            *(world @ xyz(m.pose.pose.position)),
            [w, x, y, z],
            *(body @ xyz(twist.linear)),
            *(body @ xyz(twist.angular)),
            convert.upper_triangle(convert.turned(m.pose.covariance, world)),
            convert.upper_triangle(convert.turned(m.twist.covariance, body)),
            0,
            mavlink.MAV_ESTIMATOR_TYPE_VISION,
        ),
    )


def gps_input(v: Any, m: Any) -> None:
    if not v.due("gps_input", FIX_PERIOD_US):
        return
    v.link.send(
        v.index,
        mavlink.MAVLink_gps_input_message(
            time_us(m.header),
            m.gps_id,
            m.ignore_flags,
            m.time_week_ms,
            m.time_week,
            m.fix_type,
            m.lat,
            m.lon,
            m.alt,
            m.hdop,
            m.vdop,
            m.vn,
            m.ve,
            m.vd,
            m.speed_accuracy,
            m.horiz_accuracy,
            m.vert_accuracy,
            m.satellites_visible,
        ),
    )


def fake_gps(v: Any, m: Any) -> None:
    """A fix from a motion capture system, around MAVROS's default origin."""
    if not v.due("fake_gps", FIX_PERIOD_US):
        return
    t_us, pos = time_us(m.header), xyz(m.transform.translation)
    before = v.fake_position
    v.fake_position = t_us, pos
    east = north = up = 0.0
    if before is not None and t_us > before[0]:
        east, north, up = ((b - a) * 1e6 / (t_us - before[0]) for a, b in zip(before[1], pos))
    lat, lon, height = convert.place_of(FAKE_ORIGIN, pos)
    v.link.send(
        v.index,
        mavlink.MAVLink_hil_gps_message(
            t_us,
            _FAKE_FIX,
            round(lat * 1e7),
            round(lon * 1e7),
            round(convert.above_sea(lat, lon, height) * 1e3),
            _FAKE_ERROR_CM,
            _FAKE_ERROR_CM,
            *_centimetres(math.hypot(north, east), north, east, -up),
            round(math.degrees(math.atan2(east, north)) % 360.0 * 100) % 36000,
            _FAKE_SATELLITES,
        ),
    )


def rtcm(v: Any, m: Any) -> None:
    data = bytes(m.data)
    if len(data) > _RTCM_PART * _RTCM_PARTS:
        v.host.log(
            v.name,
            mavlink.MAV_SEVERITY_ERROR,
            f"gps_rtk/send_rtcm: {len(data)} bytes are more than GPS_RTCM_DATA takes, "
            f"{_RTCM_PART * _RTCM_PARTS}",
        )
        return
    parts = [data[k : k + _RTCM_PART] for k in range(0, len(data), _RTCM_PART)] or [b""]
    number = getattr(m.header, "seq", v.now_us // 1000)  # ROS 2's header has none
    sequence, several = (number & 0x1F) << 3, len(parts) > 1
    for k, part in enumerate(parts):
        v.link.send(
            v.index,
            mavlink.MAVLink_gps_rtcm_data_message(
                sequence | k << 1 | several, len(part), part.ljust(_RTCM_PART, b"\0")
            ),
        )


def obstacle(v: Any, m: Any) -> None:
    count = len(m.ranges)
    scale = max(count / _DISTANCES, 1.0)
    if count <= _DISTANCES:
        distances = [_distance(r, 0.0) for r in m.ranges] + [_UNKNOWN] * (_DISTANCES - count)
    else:  # the nearest of those that go together
        wide = math.ceil(scale)
        distances = [
            min(_distance(r, 1e-9) for r in m.ranges[int(k * scale) :][:wide])
            for k in range(_DISTANCES)
        ]
    step = math.degrees(m.angle_increment) * scale
    v.link.send(
        v.index,
        mavlink.MAVLink_obstacle_distance_message(
            time_us(m.header),
            mavlink.MAV_DISTANCE_SENSOR_LASER,
            distances,
            int(step + 0.5) & 0xFF,
            _bounded(m.range_min * 100),
            _bounded(m.range_max * 100),
            step,
            math.degrees(m.angle_min),
            mavlink.MAV_FRAME_GLOBAL,
        ),
    )


def _distance(metres, least):
    return int(metres * 100) if least <= metres * 100 < _UNKNOWN else _UNKNOWN


def _bounded(centimetres):
    return int(min(max(centimetres, 0), _UNKNOWN))


def landing_target(v: Any, m: Any) -> None:
    """Only the last message of a time goes on; angle and size have MAVROS's units."""
    t_us = time_us(m.header)
    if t_us == v.landing_target_us:
        return
    v.landing_target_us = t_us
    pos = convert.enu_ned(xyz(m.pose.position))
    distance = math.hypot(*pos)
    size = 2.0 * math.radians(math.atan2(_TARGET_SIZE_M, 2.0 * distance))
    x, y, z, w = convert.quat_enu_ned(quat(m.pose.orientation))
    v.link.send(
        v.index,
        mavlink.MAVLink_landing_target_message(
            t_us,
            _TARGET_NUMBER,
            mavlink.MAV_FRAME_LOCAL_NED,
            *_displacement(pos),
            distance,
            size,
            size,
            *pos,
            [w, x, y, z],
            mavlink.LANDING_TARGET_TYPE_VISION_FIDUCIAL,
            1,
        ),
    )


def _displacement(pos):
    x, y, _ = pos
    if x == 0.0 or y == 0.0:
        return 0.0, 0.0
    angle = math.radians(math.atan(y / x))
    return {
        (True, True): (angle, -angle),
        (False, True): (math.pi - angle, angle),
        (False, False): (math.pi + angle, math.pi - angle),
        (True, False): (-angle, math.pi + angle),
    }[x > 0.0, y > 0.0]


def _flow(m, sensor):
    x, y, _ = convert.flu_frd((m.integrated_x, m.integrated_y, 0.0))
    gyro = convert.flu_frd((m.integrated_xgyro, m.integrated_ygyro, m.integrated_zgyro))
    return (
        time_us(m.header),
        sensor,
        m.integration_time_us,
        x,
        y,
        *gyro,
        m.temperature * 100,
        m.quality,
        m.time_delta_distance_us,
        m.distance,
    )


def flow(v: Any, m: Any) -> None:
    v.link.send(v.index, mavlink.MAVLink_optical_flow_rad_message(*_flow(m, 0)))


def hil_flow(v: Any, m: Any) -> None:
    v.link.send(v.index, mavlink.MAVLink_hil_optical_flow_message(*_flow(m, _FLOW_SENSOR)))


def hil_gps(v: Any, m: Any) -> None:
    v.link.send(
        v.index,
        mavlink.MAVLink_hil_gps_message(
            time_us(m.header),
            m.fix_type,
            round(m.geo.latitude * 1e7),
            round(m.geo.longitude * 1e7),
            round(m.geo.altitude * 1e3),
            *_centimetres(m.eph, m.epv, m.vel, m.vn, m.ve, m.vd),
            *_centimetres(m.cog),
            m.satellites_visible,
        ),
    )


def _centimetres(*metres):
    return [int(x * 100) for x in metres]


def hil_imu(v: Any, m: Any) -> None:
    accel, gyro, mag = (convert.flu_frd(xyz(x)) for x in (m.acc, m.gyro, m.mag))
    v.link.send(
        v.index,
        mavlink.MAVLink_hil_sensor_message(
            time_us(m.header),
            *accel,
            *gyro,
            *(x * 1e4 for x in mag),
            m.abs_pressure * 1e-2,
            m.diff_pressure * 1e-2,
            m.pressure_alt,
            m.temperature,
            m.fields_updated,
        ),
    )


def hil_state(v: Any, m: Any) -> None:
    x, y, z, w = convert.quat_enu_ned(quat(m.orientation))
    rate = convert.enu_ned(convert.flu_frd(xyz(m.angular_velocity)))
    accel = convert.flu_frd(xyz(m.linear_acceleration))
    v.link.send(
        v.index,
        mavlink.MAVLink_hil_state_quaternion_message(
            time_us(m.header),
            [w, x, y, z],
            *rate,
            round(m.geo.latitude * 1e7),
            round(m.geo.longitude * 1e7),
            round(m.geo.altitude * 1e3),
            *_centimetres(
                *convert.enu_ned(xyz(m.linear_velocity)), m.ind_airspeed, m.true_airspeed
            ),
            *map(int, accel),
        ),
    )


def hil_rc(v: Any, m: Any) -> None:
    channels = [*m.channels[:_CHANNELS], *[_UNKNOWN] * _CHANNELS][:_CHANNELS]
    v.link.send(v.index, mavlink.MAVLink_hil_rc_inputs_raw_message(time_us(m.header), *channels, 0))


SUBSCRIPTIONS = (
    Subscription("vision_pose/pose", "geometry_msgs/PoseStamped", vision_pose),
    Subscription(
        "vision_pose/pose_cov", "geometry_msgs/PoseWithCovarianceStamped", vision_pose_cov
    ),
    Subscription(
        "vision_speed/speed_twist_cov", "geometry_msgs/TwistWithCovarianceStamped", vision_speed
    ),
    Subscription("mocap/pose", "geometry_msgs/PoseStamped", mocap_pose),
    Subscription("odometry/out", "nav_msgs/Odometry", odometry_out),
    Subscription("gps_input/gps_input", "mavros_msgs/GPSINPUT", gps_input),
    Subscription("fake_gps/mocap/tf", "geometry_msgs/TransformStamped", fake_gps),
    Subscription("gps_rtk/send_rtcm", "mavros_msgs/RTCM", rtcm),
    Subscription("obstacle/send", "sensor_msgs/LaserScan", obstacle),
    Subscription("landing_target/pose", "geometry_msgs/PoseStamped", landing_target),
    Subscription("px4flow/raw/send", "mavros_msgs/OpticalFlowRad", flow),
    Subscription("hil/optical_flow", "mavros_msgs/OpticalFlowRad", hil_flow),
    Subscription("hil/gps", "mavros_msgs/HilGPS", hil_gps),
    Subscription("hil/imu_ned", "mavros_msgs/HilSensor", hil_imu),
    Subscription("hil/state", "mavros_msgs/HilStateQuaternion", hil_state),
    Subscription("hil/rc_inputs", "mavros_msgs/RCIn", hil_rc),
)
