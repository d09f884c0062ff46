"""Topics about the vehicle itself: state, battery, motors, time, parameters, logs."""

from collections.abc import Callable, Sequence

from xtdrone_core.mavlink.client import param_value

from .. import ros_serialisation as ros
from ..convert import decode
from ..mavlink_link import unpack
from ..rows import Topic
from ..vehicle import Vehicle
from .builders import copied

_MIN_UNIX_US = 1_234_567_890_000_000  # an earlier time is not known yet, for MAVROS [us]
_DEBUG, _VECTOR, _ARRAY, _FLOAT, _INT = range(5)  # DebugValue.TYPE_...


def _state(vehicle: Vehicle, payload: bytes) -> bytes | None:
    return vehicle.state


def _status_text(vehicle: Vehicle, payload: bytes) -> bytes | None:
    return None if vehicle.text is None else ros.status_text(vehicle.now_us, *vehicle.text)


def _battery(vehicle: Vehicle, payload: bytes) -> bytes:
    number, volts, amperes, left, cells = decode.battery(payload)
    return ros.battery_state(vehicle.now_us, "", volts, amperes, left, cells, f"id{number}")


def _estimator_status(vehicle: Vehicle, payload: bytes) -> bytes:
    *_, flags = unpack(230, payload)
    return ros.fields(vehicle.now_us, "", "12B", *(flags >> bit & 1 for bit in range(12)))


def _time_reference(vehicle: Vehicle, payload: bytes) -> bytes | None:
    unix, _ = unpack(2, payload)
    if unix <= _MIN_UNIX_US:
        return None
    return ros.time_reference(vehicle.now_us, unix, "fcu")


def _timesync(vehicle: Vehicle, payload: bytes) -> bytes | None:
    sync = vehicle.timesync
    if not sync.fresh:  # this one asked for our time
        return None
    return ros.fields(
        vehicle.now_us,
        "",
        "Qqqf",
        sync.remote_ns,
        sync.observed_ns,
        round(sync.estimated_ns),
        sync.round_trip_ns * 1e-6,
    )


def _esc_info(vehicle: Vehicle, payload: bytes) -> bytes | None:
    parts, count = vehicle.motors(290)
    if not parts:
        return None
    t_us, (*_, connection, info) = vehicle.stamp(parts[-1][0]), parts[-1]
    items = [
        ros.fields(t_us, "", "HIi", part[6 + k], part[1 + k], 100 * part[10 + k])
        for part in parts
        for k in range(4)
    ][:count]
    return ros.fields(t_us, "", "H3B", parts[-1][5], count, connection, info) + ros.array(items)


def _esc_status(vehicle: Vehicle, payload: bytes) -> bytes | None:
    parts, count = vehicle.motors(291)
    if not parts:
        return None
    t_us = vehicle.stamp(parts[-1][0])
    items = [
        ros.fields(t_us, "", "i2f", part[1 + k], part[5 + k], part[9 + k])
        for part in parts
        for k in range(4)
    ][:count]
    return ros.header(t_us, "") + ros.array(items)


def _parameter(vehicle: Vehicle, payload: bytes) -> bytes:
    message = vehicle.decoded()
    value = param_value(message)
    integer, real = (0, value) if isinstance(value, float) else (value, 0.0)
    index, count = vehicle.parameter_place(message)
    return ros.param(vehicle.now_us, message.param_id, integer, real, index, count)


def _debug_value(
    kind: int, time: str, value: str = "", names: Sequence[str] = ()
) -> Callable[[Vehicle, bytes], bytes]:
    """Returns a builder of DebugValue, of which PX4 sends five kinds of messages."""

    def build(vehicle: Vehicle, payload: bytes) -> bytes:
        message = vehicle.decoded()
        t_us = getattr(message, time) * (1000 if time.endswith("_ms") else 1)
        data = message.data if kind == _ARRAY else [getattr(message, name) for name in names]
        return b"".join(
            (
                ros.fields(
                    vehicle.stamp(t_us),
                    "",
                    "ii",
                    message.ind if kind == _DEBUG else -1,
                    message.array_id if kind == _ARRAY else -1,
                ),
                ros.text("" if kind == _DEBUG else message.name),
                ros.numbers("f", message.value if value == "real" else 0.0),
                ros.numbers("i", message.value if value == "integer" else 0),
                ros.numbers(f"I{len(data)}f", len(data), *data),
                ros.numbers("B", kind),
            )
        )

    return build


def _log_entry(vehicle: Vehicle, payload: bytes) -> bytes:
    seconds, size, number, count, last = unpack(118, payload)
    return ros.fields(vehicle.now_us, "", "3H2II", number, count, last, seconds, 0, size)


def _log_data(vehicle: Vehicle, payload: bytes) -> bytes:
    offset, number, count, *data = unpack(120, payload)
    return ros.fields(vehicle.now_us, "", "HII", number, offset, count) + bytes(data[:count])


def _radio(vehicle: Vehicle, payload: bytes) -> bytes:
    errors, fixed, rssi, remote, buffer, noise, remote_noise = unpack(109, payload)
    return ros.fields(
        vehicle.now_us,
        "",
        "5B2H2f",
        rssi,
        remote,
        buffer,
        noise,
        remote_noise,
        errors,
        fixed,
        rssi / 1.9 - 127.0,
        remote / 1.9 - 127.0,
    )


def _tunnel(vehicle: Vehicle, payload: bytes) -> bytes | None:
    kind, system, component, length, *data = unpack(385, payload)
    if length > len(data):
        return None
    return ros.numbers("BBHB128s", system, component, kind, length, bytes(data[:length]))


TOPICS: tuple[Topic[Vehicle], ...] = (
    Topic("state", "mavros_msgs/State", "HEARTBEAT", _state, 1, latched=True),
    Topic(
        "extended_state",
        "mavros_msgs/ExtendedState",
        "EXTENDED_SYS_STATE",
        copied("EXTENDED_SYS_STATE", "BB", "vtol_state landed_state"),
        5,
    ),
    Topic(
        "sys_status",
        "mavros_msgs/SysStatus",
        "SYS_STATUS",
        copied(
            "SYS_STATUS",
            "3I2Hhb6H",
            "onboard_control_sensors_present "
            "onboard_control_sensors_enabled onboard_control_sensors_health load "
            "voltage_battery current_battery battery_remaining drop_rate_comm errors_comm "
            "errors_count1 errors_count2 errors_count3 errors_count4",
        ),
        5,
    ),
    Topic("statustext/recv", "mavros_msgs/StatusText", "STATUSTEXT", _status_text),
    Topic("battery", "sensor_msgs/BatteryState", "BATTERY_STATUS", _battery, 0.5),
    Topic("esc_info", "mavros_msgs/ESCInfo", "ESC_INFO", _esc_info, 10),
    Topic("esc_status", "mavros_msgs/ESCStatus", "ESC_STATUS", _esc_status, 10),
    Topic("esc_telemetry", "mavros_msgs/ESCTelemetry"),  # ArduPilot's
    Topic(
        "estimator_status", "mavros_msgs/EstimatorStatus", "ESTIMATOR_STATUS", _estimator_status, 1
    ),
    Topic("time_reference", "sensor_msgs/TimeReference", "SYSTEM_TIME", _time_reference, 1),
    Topic("timesync_status", "mavros_msgs/TimesyncStatus", "TIMESYNC", _timesync, 10),
    Topic("param/param_value", "mavros_msgs/Param", "PARAM_VALUE", _parameter),
    Topic("log_transfer/raw/log_entry", "mavros_msgs/LogEntry", "LOG_ENTRY", _log_entry),
    Topic("log_transfer/raw/log_data", "mavros_msgs/LogData", "LOG_DATA", _log_data),
    Topic(
        "debug_value/debug",
        "mavros_msgs/DebugValue",
        "DEBUG",
        _debug_value(_DEBUG, "time_boot_ms", "real"),
    ),
    Topic(
        "debug_value/debug_vector",
        "mavros_msgs/DebugValue",
        "DEBUG_VECT",
        _debug_value(_VECTOR, "time_usec", names=("x", "y", "z")),
    ),
    Topic(
        "debug_value/debug_float_array",
        "mavros_msgs/DebugValue",
        "DEBUG_FLOAT_ARRAY",
        _debug_value(_ARRAY, "time_usec"),
    ),
    Topic(
        "debug_value/named_value_float",
        "mavros_msgs/DebugValue",
        "NAMED_VALUE_FLOAT",
        _debug_value(_FLOAT, "time_boot_ms", "real"),
    ),
    Topic(
        "debug_value/named_value_int",
        "mavros_msgs/DebugValue",
        "NAMED_VALUE_INT",
        _debug_value(_INT, "time_boot_ms", "integer"),
    ),
    Topic("radio_status", "mavros_msgs/RadioStatus", "RADIO_STATUS", _radio),
    Topic("tunnel/out", "mavros_msgs/Tunnel", "TUNNEL", _tunnel),
    Topic("mag_calibration/report", "mavros_msgs/MagnetometerReporter", latched=True),
    Topic("mag_calibration/status", "std_msgs/UInt8", latched=True),  # both ArduPilot's
)
