"""What MAVROS says of a vehicle on /diagnostics, once a second."""

from typing import Any

from xtdrone_core import modes
from xtdrone_core.mavlink.dialect import mavlink

from . import convert, ros_serialisation as ros
from .mavlink_link import unpack

OK, WARN, ERROR = range(3)  # levels of diagnostic_msgs/DiagnosticStatus
_SENSORS = (  # names of the bits of SYS_STATUS
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
_MIN_VOLTS = 10.0  # of a battery, MAVROS's sys/min_voltage
_NO_MOUNT = 255  # no mode of a mount is known


def report(v: Any) -> bytes:
    """diagnostic_msgs/DiagnosticArray of a vehicle."""
    items = [part(v) for part in (_link, _receiver, _mount, _heartbeat, _system, _battery, _time)]
    return ros.header(v.now_us, "") + ros.array(
        [
            b"".join(
                (
                    bytes((level,)),
                    ros.text(f"{v.name}/mavros: {name}"),
                    ros.text(words),
                    ros.text(v.link.url(v.index)),
                    ros.array([ros.text(key) + ros.text(str(value)) for key, value in values]),
                )
            )
            for name, (level, words, values) in items
        ]
    )


def _link(v):
    level, words = (OK, "connected") if v.connected else (WARN, "not connected")
    seconds = max(v.now_us * 1e-6, 1.0)
    return "FCU connection", (
        level,
        words,
        [
            ("Received packets:", v.received),
            ("Dropped packets:", 0),
            ("Buffer overruns:", 0),
            ("Parse errors:", 0),
            ("Rx sequence number:", v.sequence),
            ("Tx sequence number:", 0),
            ("Rx total bytes:", v.received_bytes),
            ("Tx total bytes:", v.link.sent_bytes[v.index]),
            ("Rx speed:", f"{v.received_bytes / seconds:f}"),
            ("Tx speed:", f"{v.link.sent_bytes[v.index] / seconds:f}"),
        ],
    )


def _receiver(v):
    payload = v.latest.get(mavlink.MAVLINK_MSG_ID_GPS_RAW_INT)
    fix, satellites, dilution = 0, 0, None
    if payload is not None:
        _, fix, *_, dilution, _, satellites = convert.gps_raw(payload)
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
    return "GPS", (
        level,
        words,
        [("Satellites visible", satellites), ("Fix type", fix), ("EPH (m)", h), ("EPV (m)", z)],
    )


def _mount(v):
    return "Mount", (WARN, "Can not diagnose in this targeting mode", [("Mode", _NO_MOUNT)])


def _heartbeat(v):
    payload = v.latest.get(mavlink.MAVLINK_MSG_ID_HEARTBEAT)
    custom, kind, autopilot, _, status, _ = unpack(0, payload or b"")
    level, words = (OK, "Normal") if v.connected else (ERROR, "No events recorded.")
    return "Heartbeat", (
        level,
        words,
        [
            ("Heartbeats since startup", v.heartbeats),
            ("Frequency (Hz)", f"{float(v.connected):f}"),
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


def _enum(name, value):
    entry = mavlink.enums[name].get(value)
    return (
        str(value)
        if entry is None
        else entry.name.removeprefix(f"{name}_").replace("_", " ").capitalize()
    )


def _system(v):
    present, enabled, health, load, _, _, drops, errors, *counts, _ = _sys_status(v)
    values = [
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
    return "System", (OK, "Normal", values) if healthy else (ERROR, "Sensor health", values)


def _sys_status(v):
    """The numbers of the last SYS_STATUS, zeros before the first."""
    return unpack(1, v.latest.get(mavlink.MAVLINK_MSG_ID_SYS_STATUS, b""))[:13]


def _battery(v):
    *_, left = numbers = _sys_status(v)
    millivolts, centiamperes = numbers[4:6]
    volts = millivolts * 1e-3
    level, words = (
        (OK, "Normal")
        if volts >= _MIN_VOLTS
        else ((ERROR, "No data") if volts <= 0.0 else (WARN, "Low voltage"))
    )
    return "Battery", (
        level,
        words,
        [
            ("Voltage", f"{volts:.2f}"),
            ("Current", f"{centiamperes * 1e-2:.1f}"),
            ("Remaining", f"{left:.1f}"),
        ],
    )


def _time(v):
    t = v.timesync
    level, words = (OK, "Normal") if t.answers else (ERROR, "No events recorded.")
    mean = t.round_trips_ns / t.answers if t.answers else 0
    return "Time Sync", (
        level,
        words,
        [
            ("Timesyncs since startup", t.answers),
            ("Frequency (Hz)", f"{10.0 * bool(t.answers):f}"),
            ("Last RTT (ms)", f"{t.round_trip_ns * 1e-6:f}"),
            ("Mean RTT (ms)", f"{mean * 1e-6:f}"),
            ("Last remote time (s)", f"{t.remote_ns * 1e-9:.9f}"),
            ("Estimated time offset (s)", f"{t.estimated_ns * 1e-9:.9f}"),
        ],
    )
