"""MAVROS's report on a vehicle for /diagnostics, once a second."""

from collections.abc import Sequence
from typing import TypeAlias

from xtdrone_core import modes
from xtdrone_core.mavlink.dialect import mavlink

from . import ros_serialisation as ros
from .convert import decode
from .mavlink_link import unpack
from .vehicle import Vehicle

# Level, message, and the values by their keys.
Status: TypeAlias = tuple[int, str, Sequence[tuple[str, object]]]

OK, WARN, ERROR = range(3)  # levels of diagnostic_msgs/DiagnosticStatus
_SENSORS = (  # bits of SYS_STATUS
    "3D gyro",
    "3D accelerometer",
    "3D magnetometer",
    "absolute pressure",
    "differential pressure",
    "GPS",
    "optical flow",
    "computer vision position",
    "laser based position",
    "external ground truth (Vicon or Leica)",
    "3D angular rate control",
    "attitude stabilization",
    "yaw position",
    "z/altitude control",
    "x/y position control",
    "motor outputs / control",
    "RC receiver",
    "2nd 3D gyro",
    "2nd 3D accelerometer",
    "2nd 3D magnetometer",
    "geofence",
    "AHRS subsystem health",
    "Terrain subsystem health",
    "Motors are reversed",
    "Logging",
    "Battery",
    "Proximity",
    "Satellite Communication",
    "pre-arm check status. Always healthy when armed",
    "Avoidance/collision prevention",
    "propulsion (actuator, esc, motor or propellor)",
)
_MIN_VOLTS = 10.0  # minimum voltage of a battery, MAVROS's sys/min_voltage [V]
_NO_MOUNT = 255  # unknown mode of a mount


def report(vehicle: Vehicle) -> bytes:
    """Serialises a diagnostic_msgs/DiagnosticArray about a vehicle."""
    items = {
        "FCU connection": _link(vehicle),
        "GPS": _receiver(vehicle),
        "Mount": (WARN, "Can not diagnose in this targeting mode", [("Mode", _NO_MOUNT)]),
        "Heartbeat": _heartbeat(vehicle),
        "System": _system(vehicle),
        "Battery": _battery(vehicle),
        "Time Sync": _time(vehicle),
    }
    return ros.header(vehicle.now_us, "") + ros.array(
        [
            b"".join(
                (
                    bytes((level,)),
                    ros.text(f"{vehicle.name}/mavros: {name}"),
                    ros.text(words),
                    ros.text(vehicle.link.url(vehicle.index)),
                    ros.array([ros.text(key) + ros.text(str(value)) for key, value in values]),
                )
            )
            for name, (level, words, values) in items.items()
        ]
    )


def _link(vehicle: Vehicle) -> Status:
    level, words = (OK, "connected") if vehicle.connected else (WARN, "not connected")
    seconds = max(vehicle.now_us * 1e-6, 1.0)
    return (
        level,
        words,
        [
            ("Received packets:", vehicle.received),
            ("Dropped packets:", 0),
            ("Buffer overruns:", 0),
            ("Parse errors:", 0),
            ("Rx sequence number:", vehicle.sequence),
            ("Tx sequence number:", 0),
            ("Rx total bytes:", vehicle.received_bytes),
            ("Tx total bytes:", vehicle.link.sent_bytes[vehicle.index]),
            ("Rx speed:", f"{vehicle.received_bytes / seconds:f}"),
            ("Tx speed:", f"{vehicle.link.sent_bytes[vehicle.index] / seconds:f}"),
        ],
    )


def _receiver(vehicle: Vehicle) -> Status:
    payload = vehicle.latest.get(mavlink.MAVLINK_MSG_ID_GPS_RAW_INT)
    gps = decode.gps_raw(payload or b"")
    fix, satellites = gps.fix_type, gps.satellites
    dilution = gps.dilution if payload is not None else None
    level, words = (
        (ERROR, "No satellites")
        if not satellites
        else (WARN, "No fix")
        if fix < 2
        else (OK, "2D fix")
        if fix == 2
        else (OK, "3D fix")
    )
    h, z = (f"{d:.2f}" for d in dilution) if dilution else ("Unknown", "Unknown")
    return (
        level,
        words,
        [("Satellites visible", satellites), ("Fix type", fix), ("EPH (m)", h), ("EPV (m)", z)],
    )


def _heartbeat(vehicle: Vehicle) -> Status:
    payload = vehicle.latest.get(mavlink.MAVLINK_MSG_ID_HEARTBEAT)
    custom, kind, autopilot, _, status, _ = unpack(0, payload or b"")
    level, words = (OK, "Normal") if vehicle.connected else (ERROR, "No events recorded.")
    return (
        level,
        words,
        [
            ("Heartbeats since startup", vehicle.heartbeats),
            ("Frequency (Hz)", f"{float(vehicle.connected):f}"),
            ("Vehicle type", _enum("MAV_TYPE", kind)),
            (
                "Autopilot type",
                "PX4 Autopilot"
                if autopilot == mavlink.MAV_AUTOPILOT_PX4
                else _enum("MAV_AUTOPILOT", autopilot),
            ),
            ("Mode", modes.ros_name(custom)),
            ("System status", _enum("MAV_STATE", status)),
        ],
    )


def _enum(name: str, value: int) -> str:
    entry = mavlink.enums[name].get(value)
    return (
        str(value)
        if entry is None
        else entry.name.removeprefix(f"{name}_").replace("_", " ").capitalize()
    )


def _system(vehicle: Vehicle) -> Status:
    present, enabled, health, load, _, _, drops, errors, *counts, _ = _sys_status(vehicle)
    values: list[tuple[str, object]] = [
        ("Sensor present", f"0x{present:08X}"),
        ("Sensor enabled", f"0x{enabled:08X}"),
        ("Sensor health", f"0x{health:08X}"),
    ]
    values += [
        (name, "Ok" if health >> bit & 1 else "Fail")
        for bit, name in enumerate(_SENSORS)
        if enabled >> bit & 1
    ]
    values += [
        ("CPU Load (%)", f"{load / 10:.1f}"),
        ("Drop rate (%)", f"{drops / 10:.1f}"),
        ("Errors comm", errors),
    ]
    values += [(f"Errors count #{k + 1}", count) for k, count in enumerate(counts)]
    healthy = health & enabled == enabled
    return (OK, "Normal", values) if healthy else (ERROR, "Sensor health", values)


def _sys_status(vehicle: Vehicle) -> tuple[int, ...]:
    """Returns the numbers of the last SYS_STATUS, zeros before the first."""
    return unpack(1, vehicle.latest.get(mavlink.MAVLINK_MSG_ID_SYS_STATUS, b""))[:13]


def _battery(vehicle: Vehicle) -> Status:
    *_, left = numbers = _sys_status(vehicle)
    millivolts, centiamperes = numbers[4:6]
    volts = millivolts * 1e-3
    level, words = (
        (OK, "Normal")
        if volts >= _MIN_VOLTS
        else ((ERROR, "No data") if volts <= 0.0 else (WARN, "Low voltage"))
    )
    return (
        level,
        words,
        [
            ("Voltage", f"{volts:.2f}"),
            ("Current", f"{centiamperes * 1e-2:.1f}"),
            ("Remaining", f"{left:.1f}"),
        ],
    )


def _time(vehicle: Vehicle) -> Status:
    sync = vehicle.timesync
    level, words = (OK, "Normal") if sync.answers else (ERROR, "No events recorded.")
    mean = sync.round_trips_ns / sync.answers if sync.answers else 0
    return (
        level,
        words,
        [
            ("Timesyncs since startup", sync.answers),
            ("Frequency (Hz)", f"{10.0 * bool(sync.answers):f}"),
            ("Last RTT (ms)", f"{sync.round_trip_ns * 1e-6:f}"),
            ("Mean RTT (ms)", f"{mean * 1e-6:f}"),
            ("Last remote time (s)", f"{sync.remote_ns * 1e-9:.9f}"),
            ("Estimated time offset (s)", f"{sync.estimated_ns * 1e-9:.9f}"),
        ],
    )
