"""rosbags (ROS 1), also those of other programs as long as they have poses; read without ROS.

Of record:=true and of MAVROS: /NAME/mavros/local_position/pose and velocity_local, state, battery.
Each other topic of PoseStamped or Odometry is a vehicle that is called after it.
"""

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from xtdrone_autopilot.ulog.reader import NAV_STATES
from xtdrone_core import Scenario
from xtdrone_core.errors import shown
from xtdrone_core.scenario.vehicles import MAX_FLEET, parse_vehicles
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

from ..errors import WebError
from .recording import NO_MODE, Recording, empty, grid, hold, interpolate, interpolate_attitude

if TYPE_CHECKING:  # an optional extra
    from rosbags.interfaces import Connection

_POSE, _ODOMETRY = "geometry_msgs/msg/PoseStamped", "nav_msgs/msg/Odometry"
_MAVROS = re.compile(
    r"/([^/]+)/mavros/(local_position/pose|local_position/velocity_local"
    r"|state|battery)"
)
_MODES = {name: number for number, name in NAV_STATES.items()}
_MAX_POSITION = 1e7  # largest coordinate of any vehicle [m]
RosMessage: TypeAlias = Any  # rosbags makes the classes of messages at run time
Topics = dict[str, list[tuple[Any, ...]]]  # rows of time and values, by topic


def read(path: Path, vehicle: str, world: str) -> Recording:
    """Returns a bag, with all that has poses in it.

    Args:
        path: The .bag.
        vehicle, world: Types of what a bag does not name.

    Raises:
        WebError: It is damaged or has no poses, or rosbags is missing.
    """
    content = _content(path)
    names = [name for name, topics in content.items() if topics["pose"]]
    if not names or len(names) > MAX_FLEET:
        raise WebError(
            f"'{path}' has poses of {len(names)} vehicles: give a bag with PoseStamped "
            "or Odometry, for example one of record:=true"
        )
    poses: dict[str, np.ndarray] = {name: np.array(content[name]["pose"]) for name in names}
    if not all(np.all(np.abs(each[:, 1:4]) < _MAX_POSITION) for each in poses.values()):
        raise WebError(f"'{path}' is damaged: it has positions beyond {_MAX_POSITION:g} m")
    poses = {
        name: each[np.unique(each[:, 0], return_index=True)[1]] for name, each in poses.items()
    }
    t_s = grid(
        min(each[0, 0] for each in poses.values()),
        max(each[-1, 0] for each in poses.values()),
        len(names),
    )
    table = empty(len(t_s), len(names))
    for i, name in enumerate(names):
        each, records = poses[name], table[:, i]
        records["pos"] = interpolate(t_s, each[:, 0], each[:, 1:4])
        records["quat"] = interpolate_attitude(t_s, each[:, 0], each[:, 4:8])
        records["vel"] = np.gradient(records["pos"], t_s, axis=0) if len(t_s) > 1 else 0.0
        records["est_pos"], records["est_quat"] = records["pos"], records["quat"]
        _fill(records, t_s, content[name])
        records["est_vel"] = records["vel"]
    unnamed = Scenario(vehicles=parse_vehicles(f"{vehicle}*{len(names)}"), world=world).vehicles
    specs = [replace(spec, name=name) for spec, name in zip(unnamed, names, strict=True)]
    return Recording(
        path.name,
        "rosbag",
        load_world(world),
        specs,
        [load_vehicle(vehicle)] * len(names),
        t_s,
        table,
        truth=False,
    )


def _fill(records: np.ndarray, t_s: np.ndarray, topics: Topics) -> None:
    """Fills in the topics of MAVROS beside the pose."""
    if topics["velocity_local"]:
        rows: np.ndarray = np.array(topics["velocity_local"])
        records["vel"] = interpolate(t_s, rows[:, 0], rows[:, 1:4])
        records["rates"] = interpolate(t_s, rows[:, 0], rows[:, 4:7])
    if topics["state"]:
        at_s = np.array([t for t, *_ in topics["state"]])
        values = np.array(
            [(armed, _MODES.get(mode, NO_MODE)) for _, armed, mode in topics["state"]]
        )
        known, values = hold(t_s, at_s, values)
        records["armed"][known], records["mode"][known] = values[:, 0], values[:, 1]
    if topics["battery"]:
        rows = np.array(topics["battery"])
        known, values = hold(t_s, rows[:, 0], rows[:, 1:])
        records["voltage"][known], records["current"][known] = values[:, 0], -values[:, 1]
        records["battery"][known] = values[:, 2]


def _content(path: Path) -> dict[str, Topics]:
    """Returns rows of time and values by vehicle and topic."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise WebError(
            "bags need the Python package rosbags: pip install 'xtdrone[slam]'"
        ) from error
    content: dict[str, Topics] = defaultdict(lambda: defaultdict(list))
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.ROS1_NOETIC)) as bag:
            wanted = {each.id: _about(each) for each in bag.connections}
            for connection, _, raw in bag.messages(
                [each for each in bag.connections if wanted[each.id]]
            ):
                topic = wanted[connection.id]
                assert topic is not None  # others were not asked for
                name, what = topic
                message: RosMessage = bag.deserialize(raw, connection.msgtype)
                content[name][what].append(_row(message, connection.msgtype, what))
    except Exception as error:  # damaged bytes raise any of them in rosbags
        raise WebError(
            f"cannot read '{path}': {shown(error)}; repair a truncated recording by rosbag reindex"
        ) from error
    return content


def _about(connection: "Connection") -> tuple[str, str] | None:
    """Returns the vehicle of a topic and the topic's kind; None for topics that are left out."""
    known = _MAVROS.fullmatch(connection.topic)
    if known:
        return known[1], known[2].rpartition("/")[2]
    if connection.msgtype in (_POSE, _ODOMETRY) and "/mavros/" not in connection.topic:
        return connection.topic.strip("/"), "pose"
    return None


def _row(message: RosMessage, kind: str, what: str) -> tuple[Any, ...]:  # by kind and what
    stamp = message.header.stamp
    t_s = stamp.sec + stamp.nanosec * 1e-9
    if what == "state":
        return t_s, float(message.armed), message.mode
    if what == "battery":
        return t_s, message.voltage, message.current, message.percentage
    if what == "velocity_local":
        linear, angular = message.twist.linear, message.twist.angular
        return t_s, linear.x, linear.y, linear.z, angular.x, angular.y, angular.z
    pose = message.pose.pose if kind == _ODOMETRY else message.pose
    p, q = pose.position, pose.orientation
    return t_s, p.x, p.y, p.z, q.x, q.y, q.z, q.w
