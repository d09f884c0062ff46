"""The bridge's services, MAVROS's for each vehicle, a row each.

To add one, write a function of a vehicle and a request that returns the fields of the response, and
its row in SERVICES.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pymavlink.dialects.v20 import common as mavlink

from xtdrone_core import modes
from xtdrone_core.errors import unknown_name

from . import mavlink_convert as convert


@dataclass(frozen=True)
class Service:
    """One service below V/mavros/."""

    name: str
    type: str
    answer: Callable  # of the bridge's Vehicle and a request; gives the fields of the response


def _command(v, command, *params, confirmation=1):
    result = v.requests.command_long(command, params, confirmation)
    return result == mavlink.MAV_RESULT_ACCEPTED, result


def arming(v: Any, q: Any) -> Any:
    return _command(v, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, q.value, 0, 0, 0, 0, 0, 0)


def command(v: Any, q: Any) -> Any:
    return _command(v, q.command, q.param1, q.param2, q.param3, q.param4, q.param5,
                         q.param6, q.param7, confirmation=q.confirmation)


def command_int(v: Any, q: Any) -> tuple:
    result = v.requests.command_int(
        q.frame, q.command, q.current, q.autocontinue,
        (q.param1, q.param2, q.param3, q.param4), q.x, q.y, q.z)
    return (result == mavlink.MAV_RESULT_ACCEPTED,)


def takeoff(v: Any, q: Any) -> Any:
    return _command(v, mavlink.MAV_CMD_NAV_TAKEOFF, q.min_pitch, 0, 0, q.yaw, q.latitude,
                         q.longitude, q.altitude)


def land(v: Any, q: Any) -> Any:
    return _command(v, mavlink.MAV_CMD_NAV_LAND, 0, 0, 0, q.yaw, q.latitude, q.longitude,
                         q.altitude)


def set_home(v: Any, q: Any) -> Any:
    return _command(v, mavlink.MAV_CMD_DO_SET_HOME, q.current_gps, 0, 0, q.yaw, q.latitude,
                         q.longitude, q.altitude)


def vtol_transition(v: Any, q: Any) -> Any:
    return _command(v, mavlink.MAV_CMD_DO_VTOL_TRANSITION, q.state, 0, 0, 0, 0, 0, 0,
                         confirmation=0)


def set_mode(v: Any, q: Any) -> tuple:
    """As MAVROS: True says that the request went out, State whether it was obeyed."""
    base, main, sub = q.base_mode, 0, 0
    if q.custom_mode:
        mode = modes.FROM_ROS_NAME.get(q.custom_mode)
        if mode is None:
            v.host.log(v.name, mavlink.MAV_SEVERITY_WARNING,
                           unknown_name("mode", q.custom_mode, modes.FROM_ROS_NAME))
            return (False,)
        main, sub = modes.PX4_MODE[mode]
        base |= mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED | v.base_mode & 0xA0
    v.requests.send_mode(base, main, sub)
    return (True,)


def set_stream_rate(v: Any, q: Any) -> tuple:
    v.link.send(v.index, mavlink.MAVLink_request_data_stream_message(
        v.index + 1, 1, q.stream_id, q.message_rate, q.on_off))
    return ()


def set_message_interval(v: Any, q: Any) -> Any:
    interval = -1 if q.message_rate < 0 else 0 if q.message_rate == 0 \
        else 1e6 / q.message_rate
    return _command(v, mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, q.message_id, interval, 0, 0,
                         0, 0, 0)[:1]


def request_home(v: Any, q: Any) -> tuple:
    done, result = _command(v, mavlink.MAV_CMD_GET_HOME_POSITION, 0, 0, 0, 0, 0, 0, 0)
    return done, "" if done else f"MAV_RESULT {result}"


def param_get(v: Any, q: Any) -> tuple:
    value = v.requests.param_get(q.param_id)
    return value is not None, _param_value(value)


def param_set(v: Any, q: Any) -> tuple:
    value = v.requests.param_set(q.param_id, q.value.integer, q.value.real)
    return value is not None, _param_value(value)


def param_pull(v: Any, q: Any) -> tuple:
    known = v.requests.params
    complete = known and len(known) >= v.requests.param_count
    count = len(known) if complete and not q.force_pull else v.requests.param_pull()
    v.host.store_params(v.name, {name: value for name, (value, _) in known.items()})
    return count > 0, count


def param_push(v: Any, q: Any) -> tuple:
    changed = 0
    for name, value in v.host.load_params(v.name).items():
        if name in v.requests.params and v.requests.params[name][0] != value:
            integer, real = (0, value) if isinstance(value, float) else (value, 0.0)
            changed += v.requests.param_set(name, integer, real) is not None
    return True, changed


def mission_push(v: Any, q: Any) -> tuple:
    if q.start_index:
        v.host.log(v.name, mavlink.MAV_SEVERITY_WARNING,
                       "PX4 takes whole missions only: push with start_index 0")
        return False, 0
    items = [convert.mission_item(waypoint, k == 0) for k, waypoint in enumerate(q.waypoints)]
    done = v.requests.mission_push(items)
    if done:
        mission_pull(v, None)
    return done == len(items), done


def mission_pull(v: Any, q: Any) -> tuple:
    items = v.requests.mission_pull()
    if items is None:
        return False, 0
    v.waypoints = [convert.waypoint(item) for item in items]
    v.publish_waypoints()
    return True, len(items)


def mission_clear(v: Any, q: Any) -> tuple:
    done = v.requests.mission_clear()
    if done:
        v.waypoints = []
        v.publish_waypoints()
    return (done,)


def mission_set_current(v: Any, q: Any) -> tuple:
    return (v.requests.mission_set_current(q.wp_seq),)


def _param_value(value):
    """Fields of a mavros_msgs/ParamValue."""
    if value is None:
        return {"integer": 0, "real": 0.0}
    if isinstance(value, float):
        return {"integer": 0, "real": value}
    return {"integer": value, "real": 0.0}


SERVICES = (
    Service("cmd/arming", "mavros_msgs/CommandBool", arming),
    Service("cmd/command", "mavros_msgs/CommandLong", command),
    Service("cmd/command_int", "mavros_msgs/CommandInt", command_int),
    Service("cmd/takeoff", "mavros_msgs/CommandTOL", takeoff),
    Service("cmd/land", "mavros_msgs/CommandTOL", land),
    Service("cmd/set_home", "mavros_msgs/CommandHome", set_home),
    Service("cmd/vtol_transition", "mavros_msgs/CommandVtolTransition", vtol_transition),
    Service("set_mode", "mavros_msgs/SetMode", set_mode),
    Service("set_stream_rate", "mavros_msgs/StreamRate", set_stream_rate),
    Service("set_message_interval", "mavros_msgs/MessageInterval", set_message_interval),
    Service("home_position/req_update", "std_srvs/Trigger", request_home),
    Service("param/get", "mavros_msgs/ParamGet", param_get),
    Service("param/set", "mavros_msgs/ParamSet", param_set),
    Service("param/pull", "mavros_msgs/ParamPull", param_pull),
    Service("param/push", "mavros_msgs/ParamPush", param_push),
    Service("mission/push", "mavros_msgs/WaypointPush", mission_push),
    Service("mission/pull", "mavros_msgs/WaypointPull", mission_pull),
    Service("mission/clear", "mavros_msgs/WaypointClear", mission_clear),
    Service("mission/set_current", "mavros_msgs/WaypointSetCurrent", mission_set_current),
)
