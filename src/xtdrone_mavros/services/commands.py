"""Services that command the vehicle: arming, modes, home, streams, frames of set-points, mount."""

from typing import Any

from xtdrone_core import modes
from xtdrone_core.errors import unknown_name
from xtdrone_core.mavlink.dialect import mavlink

from .. import convert
from ..mavlink_link import COMPONENT_ID, SYSTEM_ID
from .row import Service, ServiceFailed, command

_HEARTBEAT = 1  # VehicleInfo.HAVE_INFO_HEARTBEAT
_OTHER_MODES = {
    "RATTITUDE": (8, 0),
    "AUTO.READY": (4, 1),
    "AUTO.RTGS": (4, 7),
    "AUTO.PRECLAND": (4, 9),
}  # of MAVROS: PX4's main and sub mode


def arming(v: Any, q: Any) -> tuple:
    return command(v, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, q.value, 0, 0, 0, 0, 0, 0)


def command_long(v: Any, q: Any) -> tuple:
    params = (q.param1, q.param2, q.param3, q.param4, q.param5, q.param6, q.param7)
    if q.broadcast:  # MAVROS does not wait for an answer
        v.link.send(v.index, mavlink.MAVLink_command_long_message(0, 0, q.command, 0, *params))
        return True, mavlink.MAV_RESULT_ACCEPTED
    return command(v, q.command, *params, confirmation=q.confirmation)


def command_int(v: Any, q: Any) -> tuple:
    """As MAVROS: sent without waiting for an answer, so that it always succeeds."""
    whom = (0, 0) if q.broadcast else (v.index + 1, 1)
    v.link.send(
        v.index,
        mavlink.MAVLink_command_int_message(
            *whom,
            q.frame,
            q.command,
            q.current,
            q.autocontinue,
            q.param1,
            q.param2,
            q.param3,
            q.param4,
            q.x,
            q.y,
            q.z,
        ),
    )
    return (True,)


def command_ack(v: Any, q: Any) -> tuple:
    v.link.send(
        v.index,
        mavlink.MAVLink_command_ack_message(
            q.command, q.result, q.progress, q.result_param2, v.index + 1, 1
        ),
    )
    return True, mavlink.MAV_RESULT_ACCEPTED


def takeoff(v: Any, q: Any) -> tuple:
    return command(
        v,
        mavlink.MAV_CMD_NAV_TAKEOFF,
        q.min_pitch,
        0,
        0,
        q.yaw,
        q.latitude,
        q.longitude,
        q.altitude,
    )


def land(v: Any, q: Any) -> tuple:
    return command(v, mavlink.MAV_CMD_NAV_LAND, 0, 0, 0, q.yaw, q.latitude, q.longitude, q.altitude)


def set_home(v: Any, q: Any) -> tuple:
    return command(
        v,
        mavlink.MAV_CMD_DO_SET_HOME,
        q.current_gps,
        0,
        0,
        q.yaw,
        q.latitude,
        q.longitude,
        q.altitude,
    )


def vtol_transition(v: Any, q: Any) -> tuple:
    return command(v, mavlink.MAV_CMD_DO_VTOL_TRANSITION, q.state, 0, 0, 0, 0, 0, 0, confirmation=0)


def trigger_control(v: Any, q: Any) -> tuple:
    return command(
        v,
        mavlink.MAV_CMD_DO_TRIGGER_CONTROL,
        q.trigger_enable,
        q.sequence_reset,
        q.trigger_pause,
        0,
        0,
        0,
        0,
    )


def trigger_interval(v: Any, q: Any) -> tuple:
    return command(
        v,
        mavlink.MAV_CMD_DO_SET_CAM_TRIGG_INTERVAL,
        q.cycle_time,
        q.integration_time,
        0,
        0,
        0,
        0,
        0,
    )


def mount_configure(v: Any, q: Any) -> tuple:
    done, result = command(
        v,
        mavlink.MAV_CMD_DO_MOUNT_CONFIGURE,
        q.mode,
        q.stabilize_roll,
        q.stabilize_pitch,
        q.stabilize_yaw,
        q.roll_input,
        q.pitch_input,
        q.yaw_input,
        confirmation=0,
    )
    if not done:
        raise ServiceFailed(f"the mount is not configured: MAV_RESULT {result}")
    return done, result


def set_mode(v: Any, q: Any) -> tuple:
    """As MAVROS: True says that the request went out, State whether it was obeyed."""
    base, numbers = q.base_mode, (0, 0)
    if q.custom_mode:
        known = _px4_mode(q.custom_mode)
        if known is None:
            v.host.log(
                v.name,
                mavlink.MAV_SEVERITY_WARNING,
                unknown_name("mode", q.custom_mode, modes.FROM_ROS_NAME),
            )
            return (False,)
        numbers = known
        base |= mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED | v.base_mode & 0xA0
    v.requests.send_mode(base, *numbers)
    return (True,)


def _px4_mode(text):
    """PX4's main and sub mode, by the name in any case or as one number; None = unknown."""
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


def set_stream_rate(v: Any, q: Any) -> tuple:
    v.link.send(
        v.index,
        mavlink.MAVLink_request_data_stream_message(
            v.index + 1, 1, q.stream_id, q.message_rate, q.on_off
        ),
    )
    return ()


def set_message_interval(v: Any, q: Any) -> tuple:
    """As MAVROS: whether the vehicle's answer came, not what it was."""
    interval = -1 if q.message_rate < 0 else 0 if q.message_rate == 0 else 1e6 / q.message_rate
    command(v, mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, q.message_id, interval, 0, 0, 0, 0, 0)
    return (True,)


def request_home(v: Any, q: Any) -> tuple:
    done, result = command(v, mavlink.MAV_CMD_GET_HOME_POSITION, 0, 0, 0, 0, 0, 0, 0)
    return done, "" if done else f"MAV_RESULT {result}"


def _mav_frame(topics):
    """The service that sets the MAV_FRAME of a set-point's topics."""

    def answer(v, q):
        v.mav_frames[topics] = q.mav_frame
        v.host.set_parameter(v.name, f"{topics}/mav_frame", convert.mav_frame_name(q.mav_frame))
        return (True,)

    return answer


def reset_trajectory(v: Any, q: Any) -> tuple:
    if v.trajectory is None:
        return False, "Trajectory reset denied: Empty trajectory"
    v.trajectory = None
    return True, ""


def vehicle_info(v: Any, q: Any) -> tuple:
    if q.get_all:
        return True, [_own_info(), *filter(None, [v.info()])]
    system, component = (q.sysid, q.compid) if q.sysid or q.compid else (v.index + 1, 1)
    known = {(SYSTEM_ID, COMPONENT_ID): _own_info(), (v.index + 1, 1): v.info()}
    info = known.get((system, component))
    if info is None:
        raise ServiceFailed(f"system {system}, component {component} is not known")
    return True, [info]


def _own_info():
    """What MAVROS's own heartbeat says."""
    return dict(
        available_info=_HEARTBEAT,
        sysid=SYSTEM_ID,
        compid=COMPONENT_ID,
        autopilot=mavlink.MAV_AUTOPILOT_INVALID,
        type=mavlink.MAV_TYPE_ONBOARD_CONTROLLER,
        system_status=mavlink.MAV_STATE_ACTIVE,
    )


SERVICES = (
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
    Service("vehicle_info_get", "mavros_msgs/VehicleInfoGet", vehicle_info),
)
