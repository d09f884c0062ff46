"""Services that command the vehicle: arming, modes, home, streams, frames of set-points, mount."""

from collections.abc import Callable

from xtdrone_core import modes
from xtdrone_core.errors import unknown_name
from xtdrone_core.mavlink.dialect import mavlink

from ..convert import encode
from ..rows import Response, RosMessage, Service, ServiceFailed
from ..vehicle import Vehicle

# Modes of MAVROS that the workspace has not: PX4's main and sub mode.
_OTHER_MODES = {
    "RATTITUDE": (8, 0),
    "AUTO.READY": (4, 1),
    "AUTO.RTGS": (4, 7),
    "AUTO.PRECLAND": (4, 9),
}


def command(vehicle: Vehicle, number: int, *params: float, confirmation: int = 1) -> Response:
    """Sends a command; returns success and result of MAVROS's responses."""
    result = vehicle.requests.command_long(number, params, confirmation)
    return result == mavlink.MAV_RESULT_ACCEPTED, result


def arming(vehicle: Vehicle, request: RosMessage) -> Response:
    return command(vehicle, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, request.value, 0, 0, 0, 0, 0, 0)


def command_long(vehicle: Vehicle, request: RosMessage) -> Response:
    params = (
        request.param1,
        request.param2,
        request.param3,
        request.param4,
        request.param5,
        request.param6,
        request.param7,
    )
    if request.broadcast:  # MAVROS does not wait for an answer
        vehicle.send(mavlink.MAVLink_command_long_message(0, 0, request.command, 0, *params))
        return True, mavlink.MAV_RESULT_ACCEPTED
    return command(vehicle, request.command, *params, confirmation=request.confirmation)


def command_int(vehicle: Vehicle, request: RosMessage) -> Response:
    """Sends without waiting for an answer, so that it always succeeds."""
    whom = (0, 0) if request.broadcast else (vehicle.index + 1, 1)
    vehicle.send(
        mavlink.MAVLink_command_int_message(
            *whom,
            request.frame,
            request.command,
            request.current,
            request.autocontinue,
            request.param1,
            request.param2,
            request.param3,
            request.param4,
            request.x,
            request.y,
            request.z,
        )
    )
    return (True,)


def command_ack(vehicle: Vehicle, request: RosMessage) -> Response:
    vehicle.send(
        mavlink.MAVLink_command_ack_message(
            request.command,
            request.result,
            request.progress,
            request.result_param2,
            vehicle.index + 1,
            1,
        )
    )
    return True, mavlink.MAV_RESULT_ACCEPTED


def takeoff(vehicle: Vehicle, request: RosMessage) -> Response:
    return command(
        vehicle,
        mavlink.MAV_CMD_NAV_TAKEOFF,
        request.min_pitch,
        0,
        0,
        request.yaw,
        request.latitude,
        request.longitude,
        request.altitude,
    )


def land(vehicle: Vehicle, request: RosMessage) -> Response:
    return command(
        vehicle,
        mavlink.MAV_CMD_NAV_LAND,
        0,
        0,
        0,
        request.yaw,
        request.latitude,
        request.longitude,
        request.altitude,
    )


def set_home(vehicle: Vehicle, request: RosMessage) -> Response:
    return command(
        vehicle,
        mavlink.MAV_CMD_DO_SET_HOME,
        request.current_gps,
        0,
        0,
        request.yaw,
        request.latitude,
        request.longitude,
        request.altitude,
    )


def vtol_transition(vehicle: Vehicle, request: RosMessage) -> Response:
    return command(
        vehicle, mavlink.MAV_CMD_DO_VTOL_TRANSITION, request.state, 0, 0, 0, 0, 0, 0, confirmation=0
    )


def trigger_control(vehicle: Vehicle, request: RosMessage) -> Response:
    return command(
        vehicle,
        mavlink.MAV_CMD_DO_TRIGGER_CONTROL,
        request.trigger_enable,
        request.sequence_reset,
        request.trigger_pause,
        0,
        0,
        0,
        0,
    )


def trigger_interval(vehicle: Vehicle, request: RosMessage) -> Response:
    return command(
        vehicle,
        mavlink.MAV_CMD_DO_SET_CAM_TRIGG_INTERVAL,
        request.cycle_time,
        request.integration_time,
        0,
        0,
        0,
        0,
        0,
    )


def mount_configure(vehicle: Vehicle, request: RosMessage) -> Response:
    done, result = command(
        vehicle,
        mavlink.MAV_CMD_DO_MOUNT_CONFIGURE,
        request.mode,
        request.stabilize_roll,
        request.stabilize_pitch,
        request.stabilize_yaw,
        request.roll_input,
        request.pitch_input,
        request.yaw_input,
        confirmation=0,
    )
    if not done:
        raise ServiceFailed(f"the mount is not configured: MAV_RESULT {result}")
    return done, result


def set_mode(vehicle: Vehicle, request: RosMessage) -> Response:
    """Answers as MAVROS: True if the request went out; State says whether the mode was entered."""
    base, numbers = request.base_mode, (0, 0)
    if request.custom_mode:
        known = _px4_mode(request.custom_mode)
        if known is None:
            vehicle.log(
                mavlink.MAV_SEVERITY_WARNING,
                unknown_name("mode", request.custom_mode, modes.FROM_ROS_NAME),
            )
            return (False,)
        numbers = known
        base |= mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED | vehicle.base_mode & 0xA0
    vehicle.requests.send_mode(base, *numbers)
    return (True,)


def _px4_mode(text: str) -> tuple[int, int] | None:
    """Returns PX4's main and sub mode for a name in any case or a number; None = unknown."""
    mode = modes.FROM_ROS_NAME.get(text.upper())
    if mode is not None:
        return modes.PX4_MODE[mode]
    if text.upper() in _OTHER_MODES:
        return _OTHER_MODES[text.upper()]
    try:
        number = int(text, 0)
    except ValueError:
        return None
    return number >> 16 & 0xFF, number >> 24 & 0xFF


def set_stream_rate(vehicle: Vehicle, request: RosMessage) -> Response:
    vehicle.send(
        mavlink.MAVLink_request_data_stream_message(
            vehicle.index + 1, 1, request.stream_id, request.message_rate, request.on_off
        )
    )
    return ()


def set_message_interval(vehicle: Vehicle, request: RosMessage) -> Response:
    """Answers as MAVROS: whether the vehicle's answer came, not what it was."""
    interval = (
        -1
        if request.message_rate < 0
        else 0
        if request.message_rate == 0
        else 1e6 / request.message_rate
    )
    command(
        vehicle, mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, request.message_id, interval, 0, 0, 0, 0, 0
    )
    return (True,)


def request_home(vehicle: Vehicle, request: RosMessage) -> Response:
    done, result = command(vehicle, mavlink.MAV_CMD_GET_HOME_POSITION, 0, 0, 0, 0, 0, 0, 0)
    return done, "" if done else f"MAV_RESULT {result}"


def _mav_frame(topics: str) -> Callable[[Vehicle, RosMessage], Response]:
    """Returns the service that sets the MAV_FRAME of a set-point's topics."""

    def answer(vehicle: Vehicle, request: RosMessage) -> Response:
        vehicle.mav_frames[topics] = request.mav_frame
        vehicle.host.set_parameter(
            vehicle.name, f"{topics}/mav_frame", encode.mav_frame_name(request.mav_frame)
        )
        return (True,)

    return answer


def reset_trajectory(vehicle: Vehicle, request: RosMessage) -> Response:
    if vehicle.trajectory is None:
        return False, "Trajectory reset denied: Empty trajectory"
    vehicle.trajectory = None
    return True, ""


SERVICES: tuple[Service[Vehicle], ...] = (
    Service("cmd/arming", "mavros_msgs/CommandBool", arming),
    Service("cmd/command", "mavros_msgs/CommandLong", command_long),
    Service("cmd/command_int", "mavros_msgs/CommandInt", command_int),
    Service("cmd/command_ack", "mavros_msgs/CommandAck", command_ack),
    Service("cmd/takeoff", "mavros_msgs/CommandTOL", takeoff),
    Service("cmd/land", "mavros_msgs/CommandTOL", land),
    Service("cmd/set_home", "mavros_msgs/CommandHome", set_home),
    Service("cmd/vtol_transition", "mavros_msgs/CommandVtolTransition", vtol_transition),
    Service("cmd/trigger_control", "mavros_msgs/CommandTriggerControl", trigger_control),
    Service("cmd/trigger_interval", "mavros_msgs/CommandTriggerInterval", trigger_interval),
    Service("mount_control/configure", "mavros_msgs/MountConfigure", mount_configure),
    Service("set_mode", "mavros_msgs/SetMode", set_mode),
    Service("set_stream_rate", "mavros_msgs/StreamRate", set_stream_rate),
    Service("set_message_interval", "mavros_msgs/MessageInterval", set_message_interval),
    Service("home_position/req_update", "std_srvs/Trigger", request_home),
    Service(
        "setpoint_position/mav_frame", "mavros_msgs/SetMavFrame", _mav_frame("setpoint_position")
    ),
    Service(
        "setpoint_velocity/mav_frame", "mavros_msgs/SetMavFrame", _mav_frame("setpoint_velocity")
    ),
    Service(
        "setpoint_trajectory/mav_frame",
        "mavros_msgs/SetMavFrame",
        _mav_frame("setpoint_trajectory"),
    ),
    Service("setpoint_trajectory/reset", "std_srvs/Trigger", reset_trajectory),
)
