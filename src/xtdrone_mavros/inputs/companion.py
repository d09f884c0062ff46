"""Inputs from a companion computer that the vehicle passes on or notes: texts, states, values."""

from typing import Any

from xtdrone_core.mavlink.dialect import mavlink

from .row import Subscription, duration_us, target, time_us

_DEBUG, _VECTOR, _ARRAY, _FLOAT, _INT = range(5)  # DebugValue.TYPE_...
_NAME, _ARRAY_LENGTH = 10, 58  # of a debug value
_CALLSIGN, _TEXT, _TUNE = 8, 50, 248  # longest strings


def send_status_text(v: Any, m: Any) -> None:
    v.link.send(v.index, mavlink.MAVLink_statustext_message(m.severity, m.text.encode()[:_TEXT]))


def debug_value(v: Any, m: Any) -> None:
    t_us, name = time_us(m.header), m.name.encode()[:_NAME]
    ms = t_us // 1000 & 0xFFFFFFFF
    if m.type == _DEBUG:
        message = mavlink.MAVLink_debug_message(ms, m.index & 0xFF, m.value_float)
    elif m.type == _VECTOR and len(m.data) == 3:
        message = mavlink.MAVLink_debug_vect_message(name, t_us, *m.data)
    elif m.type == _ARRAY:
        data = [*m.data[:_ARRAY_LENGTH], *[0.0] * _ARRAY_LENGTH][:_ARRAY_LENGTH]
        message = mavlink.MAVLink_debug_float_array_message(t_us, name, 0, data)
    elif m.type == _FLOAT:
        message = mavlink.MAVLink_named_value_float_message(ms, name, m.value_float)
    elif m.type == _INT:
        message = mavlink.MAVLink_named_value_int_message(ms, name, m.value_int)
    else:
        v.host.log(
            v.name,
            mavlink.MAV_SEVERITY_ERROR,
            f"debug_value/send: no message of type {m.type} with {len(m.data)} numbers",
        )
        return
    v.link.send(v.index, message)


def companion_process(v: Any, m: Any) -> None:
    v.link.send(
        v.index,
        mavlink.MAVLink_heartbeat_message(
            mavlink.MAV_TYPE_ONBOARD_CONTROLLER,
            mavlink.MAV_AUTOPILOT_PX4,
            mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED,
            0,
            m.state,
            3,
        ),
        m.component,
    )


def onboard_computer(v: Any, m: Any) -> None:
    v.link.send(
        v.index,
        mavlink.MAVLink_onboard_computer_status_message(
            time_us(m.header),
            m.uptime,
            m.type,
            *map(list, (m.cpu_cores, m.cpu_combined, m.gpu_cores, m.gpu_combined)),
            m.temperature_board,
            list(m.temperature_core),
            list(m.fan_speed),
            m.ram_usage,
            m.ram_total,
            *map(
                list,
                (
                    m.storage_type,
                    m.storage_usage,
                    m.storage_total,
                    m.link_type,
                    m.link_tx_rate,
                    m.link_rx_rate,
                    m.link_tx_max,
                    m.link_rx_max,
                ),
            ),
        ),
        m.component,
    )


def cellular_status(v: Any, m: Any) -> None:
    v.link.send(
        v.index,
        mavlink.MAVLink_cellular_status_message(
            m.status, m.failure_reason, m.type, m.quality, m.mcc, m.mnc, m.lac
        ),
    )


def aircraft(v: Any, m: Any) -> None:
    v.link.send(
        v.index,
        mavlink.MAVLink_adsb_vehicle_message(
            m.ICAO_address,
            round(m.latitude * 1e7),
            round(m.longitude * 1e7),
            m.altitude_type,
            round(m.altitude * 1e3),
            round(m.heading * 1e2),
            round(m.hor_velocity * 1e2),
            round(m.ver_velocity * 1e2),
            m.callsign.encode()[:_CALLSIGN],
            m.emitter_type,
            duration_us(m.tslc) // 1_000_000,
            m.flags,
            m.squawk,
        ),
    )


def tunnel(v: Any, m: Any) -> None:
    if m.payload_length > len(m.payload):
        v.host.log(
            v.name,
            mavlink.MAV_SEVERITY_ERROR,
            f"tunnel/in: {m.payload_length} bytes are more than TUNNEL takes, {len(m.payload)}",
        )
        return
    payload = bytes(m.payload)[: m.payload_length].ljust(len(m.payload), b"\0")
    v.link.send(
        v.index,
        mavlink.MAVLink_tunnel_message(
            m.target_system, m.target_component, m.payload_type, m.payload_length, payload
        ),
    )


def play_tune(v: Any, m: Any) -> None:
    v.link.send(
        v.index, mavlink.MAVLink_play_tune_v2_message(*target(v), m.format, m.tune.encode()[:_TUNE])
    )


SUBSCRIPTIONS = (
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
