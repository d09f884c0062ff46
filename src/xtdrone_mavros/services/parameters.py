"""Services of the vehicle's parameters, and of its flight logs."""

from typing import Any

from xtdrone_core.mavlink.dialect import mavlink

from .row import Service

_HASH = "_HASH_CHECK"  # of all parameters: none that MAVROS stores


def param_get(v: Any, q: Any) -> tuple:
    value = v.requests.param_get(q.param_id)
    return value is not None, _value(value)


def param_set(v: Any, q: Any) -> tuple:
    done, value = v.requests.param_set(q.param_id, q.value.integer, q.value.real)
    return done, _value(value)


def param_pull(v: Any, q: Any) -> tuple:
    known = v.requests.params
    all_known = v.requests.params_known and not q.force_pull
    count = len(known) if all_known else v.requests.param_pull()
    v.host.store_params(
        v.name, {name: value for name, (value, _) in known.items() if name != _HASH}
    )
    return count > 0, count


def param_push(v: Any, q: Any) -> tuple:
    """Sends what differs on the parameter server; all that the vehicle has count as sent."""
    count = 0
    for name, value in v.host.load_params(v.name).items():
        if name not in v.requests.params:
            continue
        done = True
        if v.requests.params[name][0] != value:
            integer, real = (0, value) if isinstance(value, float) else (value, 0.0)
            done, _ = v.requests.param_set(name, integer, real)
        count += done
    return True, count


def _value(value):
    """Fields of a mavros_msgs/ParamValue."""
    if value is None:
        return {"integer": 0, "real": 0.0}
    if isinstance(value, float):
        return {"integer": 0, "real": value}
    return {"integer": value, "real": 0.0}


def log_list(v: Any, q: Any) -> tuple:
    v.link.send(v.index, mavlink.MAVLink_log_request_list_message(v.index + 1, 1, q.start, q.end))
    return (True,)


def log_data(v: Any, q: Any) -> tuple:
    v.link.send(
        v.index, mavlink.MAVLink_log_request_data_message(v.index + 1, 1, q.id, q.offset, q.count)
    )
    return (True,)


def log_end(v: Any, q: Any) -> tuple:
    v.link.send(v.index, mavlink.MAVLink_log_request_end_message(v.index + 1, 1))
    return (True,)


def log_erase(v: Any, q: Any) -> tuple:
    v.link.send(v.index, mavlink.MAVLink_log_erase_message(v.index + 1, 1))
    return True, ""


SERVICES = (
    Service("param/get", "mavros_msgs/ParamGet", param_get),
    Service("param/set", "mavros_msgs/ParamSet", param_set),
    Service("param/pull", "mavros_msgs/ParamPull", param_pull),
    Service("param/push", "mavros_msgs/ParamPush", param_push),
    Service("log_transfer/raw/log_request_list", "mavros_msgs/LogRequestList", log_list),
    Service("log_transfer/raw/log_request_data", "mavros_msgs/LogRequestData", log_data),
    Service("log_transfer/raw/log_request_end", "mavros_msgs/LogRequestEnd", log_end),
    Service("log_transfer/raw/log_request_erase", "std_srvs/Trigger", log_erase),
)
