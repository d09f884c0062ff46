"""Reads rosbags and MCAP for identification: MAVROS's messages, or PX4's."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core.frames import enu_ned, flu_frd, quat_enu_ned
from xtdrone_core.runs import bags
from xtdrone_dynamics.quaternion import rotate_array

from .errors import IdentificationError
from .record import Record, Signal, record_of

_PULSES = 1000.0, 2000.0  # [us]
Rows = dict[str, list[tuple[float, ...]]]


def read(path: Path, rotors: int) -> Record:
    """Reads a bag.

    Args:
        path: .bag, .mcap, .db3, or the folder of a ROS 2 bag.
        rotors: Number of rotors of the vehicle.

    Raises:
        XtdroneError: It cannot be read, has several vehicles, or lacks signals.
    """
    rows: Rows = defaultdict(list)
    with bags.opened(path, IdentificationError) as bag:
        topics = {name: kind for name, kind in bag.topics.items() if kind in _TAKEN}
        _check_one_vehicle(path, topics)
        for topic, t_s, message in bag.messages(topics):
            for key, values in _TAKEN[topics[topic]](message, rotors):
                rows[key].append((t_s, *values))
        described = bag.described()
    if not any(key in rows for key in ("command", "pulse")):
        raise IdentificationError(
            f"'{path}' has no commands of the motors: record mavros/rc/out (RCOut) or PX4's "
            f"actuator_motors; it has {described}"
        )
    signals = {key: _signal(table) for key, table in rows.items()}
    return record_of(str(path), _chosen(signals), [_span(signals)], _notes(signals))


def _signal(rows: list[tuple[float, ...]]) -> Signal:
    width = min(map(len, rows))
    table = np.array([row[:width] for row in rows], dtype=float)
    return Signal(table[:, 0], table[:, 1:])


def _span(signals: dict[str, Signal]) -> tuple[float, float]:
    return (
        max(float(signal.t_s.min()) for signal in signals.values()),
        min(float(signal.t_s.max()) for signal in signals.values()),
    )


def _chosen(signals: dict[str, Signal]) -> dict[str, Signal]:
    """Returns the signals by the names that a record has."""
    wanted = ("pos", "vel", "gyro", "accel", "command")
    out: dict[str, Signal] = {key: signals[key] for key in wanted if key in signals}
    quat = signals.get("quat", signals.get("imu_quat"))
    if quat is not None:
        out["quat"] = quat
    if "vel" not in out and "body_vel" in signals and quat is not None:
        moving = signals["body_vel"]
        nearest = np.clip(np.searchsorted(quat.t_s, moving.t_s), 0, len(quat.t_s) - 1)
        out["vel"] = Signal(moving.t_s, rotate_array(quat.values[nearest], moving.values))
    if "command" not in out:
        low, high = _PULSES
        pulses = signals["pulse"]
        out["command"] = Signal(pulses.t_s, np.clip((pulses.values - low) / (high - low), 0.0, 1.0))
    return out


def _notes(signals: dict[str, Signal]) -> tuple[str, ...]:
    low, high = _PULSES
    scaled = f"commands are pulses of {low:g} to {high:g} us, scaled to 0 to 1"
    return () if "command" in signals else (scaled,)


def _check_one_vehicle(path: Path, topics: dict[str, str]) -> None:
    """Refuses a bag in which a kind of message comes from several vehicles."""
    drives: dict[str, list[str]] = defaultdict(list)
    for topic, kind in topics.items():
        drives[kind].append(topic)
    for kind, names in drives.items():
        if kind in _DRIVES and len(names) > 1:
            raise IdentificationError(
                f"'{path}' has the motors of several vehicles, {', '.join(sorted(names))}: give a "
                "bag of one"
            )


Taken = list[tuple[str, tuple[float, ...]]]


def _three(vector: Any) -> tuple[float, float, float]:  # a message of rosbags
    return float(vector.x), float(vector.y), float(vector.z)


def _four(quat: Any) -> tuple[float, float, float, float]:  # as above
    return float(quat.x), float(quat.y), float(quat.z), float(quat.w)


def _imu(message: bags.RosMessage, _: int) -> Taken:
    out: Taken = [
        ("gyro", _three(message.angular_velocity)),
        ("accel", _three(message.linear_acceleration)),
    ]
    quat = _four(message.orientation)
    return [*out, ("imu_quat", quat)] if any(quat) else out


def _pose(message: bags.RosMessage, _: int) -> Taken:
    return [("pos", _three(message.pose.position)), ("quat", _four(message.pose.orientation))]


def _odometry(message: bags.RosMessage, _: int) -> Taken:
    pose = message.pose.pose
    return [
        ("pos", _three(pose.position)),
        ("quat", _four(pose.orientation)),
        ("body_vel", _three(message.twist.twist.linear)),
    ]


def _twist(message: bags.RosMessage, _: int) -> Taken:
    return [("vel", _three(message.twist.linear))]


def _pulses(message: bags.RosMessage, rotors: int) -> Taken:
    return [("pulse", tuple(map(float, message.channels[:rotors])))]


def _px4_motors(message: bags.RosMessage, rotors: int) -> Taken:
    return [("command", tuple(map(float, message.control[:rotors])))]


def _px4_sensors(message: bags.RosMessage, _: int) -> Taken:
    return [
        ("gyro", tuple(flu_frd(message.gyro_rad))),
        ("accel", tuple(flu_frd(message.accelerometer_m_s2))),
    ]


def _px4_attitude(message: bags.RosMessage, _: int) -> Taken:
    w, x, y, z = map(float, message.q)
    return [("quat", tuple(quat_enu_ned((x, y, z, w))))]


def _px4_position(message: bags.RosMessage, _: int) -> Taken:
    return [
        ("pos", tuple(enu_ned((message.x, message.y, message.z)))),
        ("vel", tuple(enu_ned((message.vx, message.vy, message.vz)))),
    ]


# Type of a message to what it says, by the names of signals.
_TAKEN: dict[str, Callable[[bags.RosMessage, int], Taken]] = {
    "sensor_msgs/msg/Imu": _imu,
    "geometry_msgs/msg/PoseStamped": _pose,
    "geometry_msgs/msg/TwistStamped": _twist,
    "nav_msgs/msg/Odometry": _odometry,
    "mavros_msgs/msg/RCOut": _pulses,
    "px4_msgs/msg/ActuatorMotors": _px4_motors,
    "px4_msgs/msg/SensorCombined": _px4_sensors,
    "px4_msgs/msg/VehicleAttitude": _px4_attitude,
    "px4_msgs/msg/VehicleLocalPosition": _px4_position,
}
_DRIVES = ("mavros_msgs/msg/RCOut", "px4_msgs/msg/ActuatorMotors")
