"""Services of the vehicle's parameters, and of its flight logs."""

from xtdrone_core.mavlink.dialect import mavlink

from ..rows import Response, RosMessage, Service
from ..vehicle import Vehicle

_HASH = "_HASH_CHECK"  # hash of all parameters, which MAVROS does not store


def param_get(vehicle: Vehicle, request: RosMessage) -> Response:
    value = vehicle.requests.param_get(request.param_id)
    return value is not None, _value(value)


def param_set(vehicle: Vehicle, request: RosMessage) -> Response:
    done, value = vehicle.requests.param_set(
        request.param_id, request.value.integer, request.value.real
    )
    return done, _value(value)


def param_pull(vehicle: Vehicle, request: RosMessage) -> Response:
    known = vehicle.requests.params
    all_known = vehicle.requests.params_known and not request.force_pull
    count = len(known) if all_known else vehicle.requests.param_pull()
    vehicle.host.store_params(
        vehicle.name, {name: value for name, (value, _) in known.items() if name != _HASH}
    )
    return count > 0, count


def param_push(vehicle: Vehicle, request: RosMessage) -> Response:
    """Sends what differs on the parameter server; all that the vehicle has count as sent."""
    count = 0
    for name, value in vehicle.host.load_params(vehicle.name).items():
        if name not in vehicle.requests.params:
            continue
        done = True
        if vehicle.requests.params[name][0] != value:
            integer, real = (0, value) if isinstance(value, float) else (value, 0.0)
            done, _ = vehicle.requests.param_set(name, integer, real)
        count += done
    return True, count


def _value(value: int | float | None) -> dict[str, int | float]:
    """Returns the fields of a mavros_msgs/ParamValue."""
    if value is None:
        return {"integer": 0, "real": 0.0}
    if isinstance(value, float):
        return {"integer": 0, "real": value}
    return {"integer": value, "real": 0.0}


def log_list(vehicle: Vehicle, request: RosMessage) -> Response:
    vehicle.send(
        mavlink.MAVLink_log_request_list_message(vehicle.index + 1, 1, request.start, request.end)
    )
    return (True,)


def log_data(vehicle: Vehicle, request: RosMessage) -> Response:
    vehicle.send(
        mavlink.MAVLink_log_request_data_message(
            vehicle.index + 1, 1, request.id, request.offset, request.count
        )
    )
    return (True,)


def log_end(vehicle: Vehicle, request: RosMessage) -> Response:
    vehicle.send(mavlink.MAVLink_log_request_end_message(vehicle.index + 1, 1))
    return (True,)


def log_erase(vehicle: Vehicle, request: RosMessage) -> Response:
    vehicle.send(mavlink.MAVLink_log_erase_message(vehicle.index + 1, 1))
    return True, ""


SERVICES: tuple[Service[Vehicle], ...] = (
    Service("param/get", "mavros_msgs/ParamGet", param_get),
    Service("param/set", "mavros_msgs/ParamSet", param_set),
    Service("param/pull", "mavros_msgs/ParamPull", param_pull),
    Service("param/push", "mavros_msgs/ParamPush", param_push),
    Service("log_transfer/raw/log_request_list", "mavros_msgs/LogRequestList", log_list),
    Service("log_transfer/raw/log_request_data", "mavros_msgs/LogRequestData", log_data),
    Service("log_transfer/raw/log_request_end", "mavros_msgs/LogRequestEnd", log_end),
    Service("log_transfer/raw/log_request_erase", "std_srvs/Trigger", log_erase),
)
