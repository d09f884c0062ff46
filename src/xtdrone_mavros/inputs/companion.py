"""Inputs from a companion computer that the vehicle passes on or notes: texts, states, values."""

from xtdrone_core.mavlink.dialect import mavlink

from ..rows import RosMessage, Subscription
from ..vehicle import Vehicle
from .fields import duration_us, target, time_us

_DEBUG, _VECTOR, _ARRAY, _FLOAT, _INT = range(5)  # DebugValue.TYPE_...
_NAME, _ARRAY_LENGTH = 10, 58  # length of a debug value's name and array
_CALLSIGN, _TEXT, _TUNE = 8, 50, 248  # longest strings


def send_status_text(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(
        mavlink.MAVLink_statustext_message(message.severity, message.text.encode()[:_TEXT])
    )


def debug_value(vehicle: Vehicle, message: RosMessage) -> None:
    t_us, name = time_us(message.header), message.name.encode()[:_NAME]
    ms = t_us // 1000 & 0xFFFFFFFF
    if message.type == _DEBUG:
        debug = mavlink.MAVLink_debug_message(ms, message.index & 0xFF, message.value_float)
    elif message.type == _VECTOR and len(message.data) == 3:
        debug = mavlink.MAVLink_debug_vect_message(name, t_us, *message.data)
    elif message.type == _ARRAY:
        data = [*message.data[:_ARRAY_LENGTH], *[0.0] * _ARRAY_LENGTH][:_ARRAY_LENGTH]
        debug = mavlink.MAVLink_debug_float_array_message(t_us, name, 0, data)
    elif message.type == _FLOAT:
        debug = mavlink.MAVLink_named_value_float_message(ms, name, message.value_float)
    elif message.type == _INT:
        debug = mavlink.MAVLink_named_value_int_message(ms, name, message.value_int)
    else:
        vehicle.log(
            mavlink.MAV_SEVERITY_ERROR,
            f"debug_value/send: no message of type {message.type} with {len(message.data)} numbers",
        )
        return
    vehicle.send(debug)


def companion_process(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(
        mavlink.MAVLink_heartbeat_message(
            mavlink.MAV_TYPE_ONBOARD_CONTROLLER,
            mavlink.MAV_AUTOPILOT_PX4,
            mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED,
            0,
            message.state,
            3,
        ),
        message.component,
    )


def onboard_computer(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(
        mavlink.MAVLink_onboard_computer_status_message(
            time_us(message.header),
            message.uptime,
            message.type,
            *map(
                list,
                (message.cpu_cores, message.cpu_combined, message.gpu_cores, message.gpu_combined),
            ),
            message.temperature_board,
            list(message.temperature_core),
            list(message.fan_speed),
            message.ram_usage,
            message.ram_total,
            *map(
                list,
                (
                    message.storage_type,
                    message.storage_usage,
                    message.storage_total,
                    message.link_type,
                    message.link_tx_rate,
                    message.link_rx_rate,
                    message.link_tx_max,
                    message.link_rx_max,
                ),
            ),
        ),
        message.component,
    )


def cellular_status(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(
        mavlink.MAVLink_cellular_status_message(
            message.status,
            message.failure_reason,
            message.type,
            message.quality,
            message.mcc,
            message.mnc,
            message.lac,
        )
    )


def aircraft(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(
        mavlink.MAVLink_adsb_vehicle_message(
            message.ICAO_address,
            round(message.latitude * 1e7),
            round(message.longitude * 1e7),
            message.altitude_type,
            round(message.altitude * 1e3),
            round(message.heading * 1e2),
            round(message.hor_velocity * 1e2),
            round(message.ver_velocity * 1e2),
            message.callsign.encode()[:_CALLSIGN],
            message.emitter_type,
            duration_us(message.tslc) // 1_000_000,
            message.flags,
            message.squawk,
        )
    )


def tunnel(vehicle: Vehicle, message: RosMessage) -> None:
    if message.payload_length > len(message.payload):
        vehicle.log(
            mavlink.MAV_SEVERITY_ERROR,
            f"tunnel/in: {message.payload_length} bytes are more than TUNNEL takes, "
            f"{len(message.payload)}",
        )
        return
    payload = bytes(message.payload)[: message.payload_length].ljust(len(message.payload), b"\0")
    vehicle.send(
        mavlink.MAVLink_tunnel_message(
            message.target_system,
            message.target_component,
            message.payload_type,
            message.payload_length,
            payload,
        )
    )


def play_tune(vehicle: Vehicle, message: RosMessage) -> None:
    vehicle.send(
        mavlink.MAVLink_play_tune_v2_message(
            *target(vehicle), message.format, message.tune.encode()[:_TUNE]
        )
    )


SUBSCRIPTIONS: tuple[Subscription[Vehicle], ...] = (
    Subscription("statustext/send", "mavros_msgs/StatusText", send_status_text),
    Subscription("debug_value/send", "mavros_msgs/DebugValue", debug_value),
    Subscription(
        "companion_process/status", "mavros_msgs/CompanionProcessStatus", companion_process
    ),
    Subscription("onboard_computer/status", "mavros_msgs/OnboardComputerStatus", onboard_computer),
    Subscription("cellular_status/status", "mavros_msgs/CellularStatus", cellular_status),
    Subscription("adsb/send", "mavros_msgs/ADSBVehicle", aircraft),
    Subscription("tunnel/in", "mavros_msgs/Tunnel", tunnel),
    Subscription("play_tune", "mavros_msgs/PlayTuneV2", play_tune),
)
