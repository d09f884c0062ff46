"""Topics about guidance: set-points, missions, trajectories, sticks, actuators."""

from .. import ros_serialisation as ros
from ..convert import decode, geometry
from ..mavlink_link import unpack
from ..rows import Topic
from ..vehicle import Vehicle
from .builders import copied

_MAX_CHANNELS = 18
_POINTS = 5  # points of a trajectory


def _position_target(vehicle: Vehicle, payload: bytes) -> bytes:
    return ros.position_target(vehicle.now_us, "", *decode.position_target(payload)[1:])


def _attitude_target(vehicle: Vehicle, payload: bytes) -> bytes:
    t, mask, quat, rate, thrust = decode.attitude_target(payload)
    return ros.fields(vehicle.stamp(t), "", "B7df", mask, *quat, *rate, thrust)


def _global_target(vehicle: Vehicle, payload: bytes) -> bytes:
    t, lat, lon, alt, vx, vy, vz, ax, ay, az, yaw, rate, mask, frame = unpack(87, payload)
    return ros.fields(
        vehicle.stamp(t * 1000),
        "",
        "BH2df6d2f",
        frame,
        mask,
        lat * 1e-7,
        lon * 1e-7,
        alt,
        vy,
        vx,
        -vz,
        ay,
        ax,
        -az,
        geometry.yaw_enu_ned(yaw),
        -rate,
    )


def _mission(vehicle: Vehicle, payload: bytes) -> bytes | None:
    return vehicle.mission


def _trajectory(vehicle: Vehicle, payload: bytes) -> bytes | None:
    message = vehicle.decoded()
    if message.valid_points > _POINTS:
        return None
    points = [
        ros.position_target(
            0,
            "",
            0,
            0,
            (message.pos_y[k], message.pos_x[k], -message.pos_z[k]),
            (message.vel_y[k], message.vel_x[k], -message.vel_z[k]),
            (message.acc_y[k], message.acc_x[k], -message.acc_z[k]),
            geometry.yaw_enu_ned(message.pos_yaw[k]),
            message.vel_yaw[k],
        )
        for k in range(_POINTS)
    ]
    valid = [k < message.valid_points for k in range(_POINTS)]
    return b"".join(
        (
            ros.fields(vehicle.stamp(message.time_usec), "local_origin", "B", 0),
            *points,
            ros.numbers("5B5H5f", *valid, *message.command, *[0.0] * _POINTS),
        )
    )


def _channels(vehicle: Vehicle, payload: bytes) -> bytes:
    message = vehicle.decoded()
    count = min(message.chancount, _MAX_CHANNELS)
    values = [getattr(message, f"chan{k + 1}_raw") for k in range(count)]
    return ros.fields(
        vehicle.stamp(message.time_boot_ms * 1000), "", f"BI{count}H", message.rssi, count, *values
    )


def _servos(vehicle: Vehicle, payload: bytes) -> bytes:
    values = unpack(36, payload)
    return ros.fields(vehicle.stamp(values[0]), "", "I16H", 16, *values[1:9], *values[10:18])


def _sticks(vehicle: Vehicle, payload: bytes) -> bytes:
    message = vehicle.decoded()
    return ros.fields(
        vehicle.now_us,
        "",
        "4f2HB8f",
        message.x / 1000,
        message.y / 1000,
        message.z / 1000,
        message.r / 1000,
        message.buttons,
        0,
        0,
        *[0.0] * 8,
    )


TOPICS: tuple[Topic[Vehicle], ...] = (
    Topic(
        "setpoint_raw/target_local",
        "mavros_msgs/PositionTarget",
        "POSITION_TARGET_LOCAL_NED",
        _position_target,
        10,
    ),
    Topic(
        "setpoint_raw/target_global",
        "mavros_msgs/GlobalPositionTarget",
        "POSITION_TARGET_GLOBAL_INT",
        _global_target,
        10,
    ),
    Topic(
        "setpoint_raw/target_attitude",
        "mavros_msgs/AttitudeTarget",
        "ATTITUDE_TARGET",
        _attitude_target,
        10,
    ),
    Topic(
        "setpoint_trajectory/desired", "nav_msgs/Path"
    ),  # published when setpoint_trajectory/local comes
    Topic(
        "trajectory/desired",
        "mavros_msgs/Trajectory",
        "TRAJECTORY_REPRESENTATION_WAYPOINTS",
        _trajectory,
    ),
    Topic(
        "mission/waypoints", "mavros_msgs/WaypointList", "MISSION_CURRENT", _mission, latched=True
    ),
    Topic(
        "mission/reached",
        "mavros_msgs/WaypointReached",
        "MISSION_ITEM_REACHED",
        copied("MISSION_ITEM_REACHED", "H", "seq"),
        latched=True,
    ),
    Topic("geofence/waypoints", "mavros_msgs/WaypointList", latched=True),  # when they change
    Topic("rallypoint/waypoints", "mavros_msgs/WaypointList", latched=True),
    Topic(
        "nav_controller_output",
        "mavros_msgs/NavControllerOutput",
        "NAV_CONTROLLER_OUTPUT",
        copied(
            "NAV_CONTROLLER_OUTPUT",
            "2f2hH3f",
            "nav_roll nav_pitch nav_bearing "
            "target_bearing wp_dist alt_error aspd_error xtrack_error",
        ),
    ),
    Topic("rc/in", "mavros_msgs/RCIn", "RC_CHANNELS", _channels),
    Topic("rc/out", "mavros_msgs/RCOut", "SERVO_OUTPUT_RAW", _servos, 10),
    Topic("manual_control/control", "mavros_msgs/ManualControl", "MANUAL_CONTROL", _sticks),
    Topic(
        "target_actuator_control",
        "mavros_msgs/ActuatorControl",
        "ACTUATOR_CONTROL_TARGET",
        copied("ACTUATOR_CONTROL_TARGET", "B8f", "group_mlx controls", "time_usec"),
    ),
    Topic(
        "hil/actuator_controls",
        "mavros_msgs/HilActuatorControls",
        "HIL_ACTUATOR_CONTROLS",
        copied("HIL_ACTUATOR_CONTROLS", "16fBQ", "controls mode flags", "time_usec"),
    ),
    Topic(
        "hil/controls",
        "mavros_msgs/HilControls",
        "HIL_CONTROLS",
        copied(
            "HIL_CONTROLS",
            "8f2B",
            "roll_ailerons pitch_elevator yaw_rudder throttle aux1 aux2 aux3 aux4 mode nav_mode",
            "time_usec",
        ),
    ),
)
