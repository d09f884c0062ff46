"""Inputs that tell the vehicle where it is and what is around it: poses, receivers, sensors."""

import math

import numpy as np

from xtdrone_core.mavlink.dialect import mavlink

from ..convert import encode, geometry
from ..convert.geometry import Vector
from ..rows import RosMessage, Subscription
from ..vehicle import Vehicle
from .fields import quat, time_us, xyz

FIX_PERIOD_US = 200_000  # between two of gps_input and fake_gps, as in MAVROS [us]
FAKE_ORIGIN = 47.3667, 8.55, 408.0  # origin of fake_gps: Zurich [deg, m above the ellipsoid]
_FAKE_ERROR_CM, _FAKE_SATELLITES, _FAKE_FIX = 200, 5, 3  # accuracy and fix of fake_gps
_RTCM_PART, _RTCM_PARTS = 180, 4  # bytes in one GPS_RTCM_DATA, messages of one fragmented text
_DISTANCES, _UNKNOWN = 72, 0xFFFF  # number and unknown value of OBSTACLE_DISTANCE
_TARGET_SIZE_M = 0.3
_TARGET_NUMBER = ord("1")  # MAVROS takes the last letter of "landing_target_1"
_CHANNELS = 12  # channels of HIL_RC_INPUTS_RAW
_FLOW_SENSOR = 127  # id of a simulated optical flow
_WORLD = {"odom": True, "map": True, "odom_ned": False, "map_ned": False}  # frame: is it ENU
_BODY = {"base_link": True, "base_link_frd": False}  # frame: is it FLU


def vision_pose(vehicle: Vehicle, message: RosMessage) -> None:
    _send_vision(vehicle, message.header, message.pose, None)


def vision_pose_cov(vehicle: Vehicle, message: RosMessage) -> None:
    full = geometry.rotate_covariance(message.pose.covariance, geometry.NED_ENU)
    _send_vision(vehicle, message.header, message.pose.pose, geometry.upper_triangle(full))


def _send_vision(
    vehicle: Vehicle, header: RosMessage, pose: RosMessage, covariance: list[float] | None
) -> None:
    vehicle.send(
        encode.vision_position(
            time_us(header) or vehicle.now_us,
            xyz(pose.position),
            quat(pose.orientation),
            covariance,
        )
    )


def vision_speed(vehicle: Vehicle, message: RosMessage) -> None:
    full = np.reshape(message.twist.covariance, (6, 6))[:3, :3]
    covariance = geometry.NED_ENU @ full @ geometry.NED_ENU.T
    vehicle.send(
        mavlink.MAVLink_vision_speed_estimate_message(
            time_us(message.header),
            *geometry.enu_ned(xyz(message.twist.twist.linear)),
            covariance.ravel().tolist(),
        )
    )


def mocap_pose(vehicle: Vehicle, message: RosMessage) -> None:
    x, y, z, w = geometry.quat_enu_ned(quat(message.pose.orientation))
    vehicle.send(
        mavlink.MAVLink_att_pos_mocap_message(
            time_us(message.header), [w, x, y, z], *geometry.enu_ned(xyz(message.pose.position))
        )
    )


def odometry_out(vehicle: Vehicle, message: RosMessage) -> None:
    """Frames are those of MAVROS's static transforms; map counts as odom."""
    enu, flu = _WORLD.get(message.header.frame_id), _BODY.get(message.child_frame_id)
    if enu is None or flu is None:
        vehicle.log(
            mavlink.MAV_SEVERITY_ERROR,
            f"odometry/out from '{message.header.frame_id}' to '{message.child_frame_id}': give it "
            f"from {', '.join(_WORLD)} to {', '.join(_BODY)}",
        )
        return
    world, body = (geometry.NED_ENU if enu else np.eye(3)), (geometry.FRD_FLU if flu else np.eye(3))
    attitude = quat(message.pose.pose.orientation)
    if enu:
        attitude = geometry.quaternion_product(geometry.TO_NED, attitude)
    if flu:
        attitude = geometry.quaternion_product(attitude, geometry.TO_FLU)
    x, y, z, w = attitude
    twist = message.twist.twist
    vehicle.send(
        mavlink.MAVLink_odometry_message(
            time_us(message.header),
            mavlink.MAV_FRAME_LOCAL_FRD,
            mavlink.MAV_FRAME_BODY_FRD,
            *(world @ xyz(message.pose.pose.position)),
            [w, x, y, z],
            *(body @ xyz(twist.linear)),
            *(body @ xyz(twist.angular)),
            geometry.upper_triangle(geometry.rotate_covariance(message.pose.covariance, world)),
            geometry.upper_triangle(geometry.rotate_covariance(message.twist.covariance, body)),
            0,
            mavlink.MAV_ESTIMATOR_TYPE_VISION,
        )
    )


def gps_input(vehicle: Vehicle, message: RosMessage) -> None:
    if not vehicle.due("gps_input", FIX_PERIOD_US):
        return
    vehicle.send(
        mavlink.MAVLink_gps_input_message(
            time_us(message.header),
            message.gps_id,
            message.ignore_flags,
            message.time_week_ms,
            message.time_week,
            message.fix_type,
            message.lat,
            message.lon,
            message.alt,
            message.hdop,
            message.vdop,
            message.vn,
            message.ve,
            message.vd,
            message.speed_accuracy,
            message.horiz_accuracy,
            message.vert_accuracy,
            message.satellites_visible,
        )
    )


def fake_gps(vehicle: Vehicle, message: RosMessage) -> None:
    """A fix from a motion capture system, around MAVROS's default origin."""
    if not vehicle.due("fake_gps", FIX_PERIOD_US):
        return
    t_us, pos = time_us(message.header), xyz(message.transform.translation)
    before = vehicle.fake_position
    vehicle.fake_position = t_us, pos
    east = north = up = 0.0
    if before is not None and t_us > before[0]:
        east, north, up = ((b - a) * 1e6 / (t_us - before[0]) for a, b in zip(before[1], pos))
    lat, lon, height = geometry.enu_to_geodetic(FAKE_ORIGIN, pos)
    vehicle.send(
        mavlink.MAVLink_hil_gps_message(
            t_us,
            _FAKE_FIX,
            round(lat * 1e7),
            round(lon * 1e7),
            round(geometry.above_sea(lat, lon, height) * 1e3),
            _FAKE_ERROR_CM,
            _FAKE_ERROR_CM,
            *_centimetres(math.hypot(north, east), north, east, -up),
            round(math.degrees(math.atan2(east, north)) % 360.0 * 100) % 36000,
            _FAKE_SATELLITES,
        )
    )


def rtcm(vehicle: Vehicle, message: RosMessage) -> None:
    data = bytes(message.data)
    if len(data) > _RTCM_PART * _RTCM_PARTS:
        vehicle.log(
            mavlink.MAV_SEVERITY_ERROR,
            f"gps_rtk/send_rtcm: {len(data)} bytes are more than GPS_RTCM_DATA takes, "
            f"{_RTCM_PART * _RTCM_PARTS}",
        )
        return
    parts = [data[k : k + _RTCM_PART] for k in range(0, len(data), _RTCM_PART)] or [b""]
    number = getattr(message.header, "seq", vehicle.now_us // 1000)  # ROS 2's header has none
    sequence, several = (number & 0x1F) << 3, len(parts) > 1
    for k, part in enumerate(parts):
        vehicle.send(
            mavlink.MAVLink_gps_rtcm_data_message(
                sequence | k << 1 | several, len(part), part.ljust(_RTCM_PART, b"\0")
            )
        )


def obstacle(vehicle: Vehicle, message: RosMessage) -> None:
    count = len(message.ranges)
    scale = max(count / _DISTANCES, 1.0)
    if count <= _DISTANCES:
        distances = [_distance(r, 0.0) for r in message.ranges] + [_UNKNOWN] * (_DISTANCES - count)
    else:  # the nearest of those that go together
        wide = math.ceil(scale)
        distances = [
            min(_distance(r, 1e-9) for r in message.ranges[int(k * scale) :][:wide])
            for k in range(_DISTANCES)
        ]
    step = math.degrees(message.angle_increment) * scale
    vehicle.send(
        mavlink.MAVLink_obstacle_distance_message(
            time_us(message.header),
            mavlink.MAV_DISTANCE_SENSOR_LASER,
            distances,
            int(step + 0.5) & 0xFF,
            _bounded(message.range_min * 100),
            _bounded(message.range_max * 100),
            step,
            math.degrees(message.angle_min),
            mavlink.MAV_FRAME_GLOBAL,
        )
    )


def _distance(metres: float, minimum: float) -> int:
    return int(metres * 100) if minimum <= metres * 100 < _UNKNOWN else _UNKNOWN


def _bounded(centimetres: float) -> int:
    return int(min(max(centimetres, 0), _UNKNOWN))


def landing_target(vehicle: Vehicle, message: RosMessage) -> None:
    """Only the last message of a time goes on; angle and size have MAVROS's units."""
    t_us = time_us(message.header)
    if t_us == vehicle.landing_target_us:
        return
    vehicle.landing_target_us = t_us
    pos = geometry.enu_ned(xyz(message.pose.position))
    distance = math.hypot(*pos)
    size = 2.0 * math.radians(math.atan2(_TARGET_SIZE_M, 2.0 * distance))
    x, y, z, w = geometry.quat_enu_ned(quat(message.pose.orientation))
    vehicle.send(
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
        )
    )


def _displacement(pos: Vector) -> tuple[float, float]:
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


def _flow(message: RosMessage, sensor: int) -> tuple[float, ...]:
    """Returns the fields that both messages of optical flow have."""
    x, y, _ = geometry.flu_frd((message.integrated_x, message.integrated_y, 0.0))
    gyro = geometry.flu_frd(
        (message.integrated_xgyro, message.integrated_ygyro, message.integrated_zgyro)
    )
    return (
        time_us(message.header),
        sensor,
        message.integration_time_us,
        x,
        y,
        *gyro,
        message.temperature * 100,
        message.quality,
        message.time_delta_distance_us,
        message.distance,
    )


def flow(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(mavlink.MAVLink_optical_flow_rad_message(*_flow(message, 0)))


def hil_flow(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(mavlink.MAVLink_hil_optical_flow_message(*_flow(message, _FLOW_SENSOR)))


def hil_gps(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(
        mavlink.MAVLink_hil_gps_message(
            time_us(message.header),
            message.fix_type,
            round(message.geo.latitude * 1e7),
            round(message.geo.longitude * 1e7),
            round(message.geo.altitude * 1e3),
            *_centimetres(
                message.eph, message.epv, message.vel, message.vn, message.ve, message.vd
            ),
            *_centimetres(message.cog),
            message.satellites_visible,
        )
    )


def _centimetres(*metres: float) -> list[int]:
    return [int(x * 100) for x in metres]


def hil_imu(vehicle: Vehicle, message: RosMessage) -> None:
    accel, gyro, mag = (geometry.flu_frd(xyz(x)) for x in (message.acc, message.gyro, message.mag))
    vehicle.send(
        mavlink.MAVLink_hil_sensor_message(
            time_us(message.header),
            *accel,
            *gyro,
            *(x * 1e4 for x in mag),
            message.abs_pressure * 1e-2,
            message.diff_pressure * 1e-2,
            message.pressure_alt,
            message.temperature,
            message.fields_updated,
        )
    )


def hil_state(vehicle: Vehicle, message: RosMessage) -> None:
    x, y, z, w = geometry.quat_enu_ned(quat(message.orientation))
    rate = geometry.enu_ned(geometry.flu_frd(xyz(message.angular_velocity)))
    accel = geometry.flu_frd(xyz(message.linear_acceleration))
    vehicle.send(
        mavlink.MAVLink_hil_state_quaternion_message(
            time_us(message.header),
            [w, x, y, z],
            *rate,
            round(message.geo.latitude * 1e7),
            round(message.geo.longitude * 1e7),
            round(message.geo.altitude * 1e3),
            *_centimetres(
                *geometry.enu_ned(xyz(message.linear_velocity)),
                message.ind_airspeed,
                message.true_airspeed,
            ),
            *map(int, accel),
        )
    )


def hil_rc(vehicle: Vehicle, message: RosMessage) -> None:
    channels = [*message.channels[:_CHANNELS], *[_UNKNOWN] * _CHANNELS][:_CHANNELS]
    vehicle.send(mavlink.MAVLink_hil_rc_inputs_raw_message(time_us(message.header), *channels, 0))


SUBSCRIPTIONS: tuple[Subscription[Vehicle], ...] = (
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
