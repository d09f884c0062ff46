"""Bags of ROS 1 and ROS 2, also those of other programs as long as they have poses.

Of record:=true and of MAVROS: /NAME/mavros/local_position/pose (or odom) and velocity_local, state,
battery. Each other topic with poses is a vehicle that is called after it; without any, each of
tf's frames that are vehicles' is one.
"""

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_autopilot.ulog.reader import NAV_STATES
from xtdrone_core import Scenario
from xtdrone_core.errors import shown
from xtdrone_core.runs import bags
from xtdrone_core.scenario.vehicles import MAX_FLEET, parse_vehicles
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

from ..errors import WebError
from .recording import NO_MODE, Recording, empty, grid, hold, interpolate, interpolate_attitude

_MAVROS = re.compile(
    r"(?:/(.+))?/mavros/(local_position/pose|local_position/odom|local_position/velocity_local"
    r"|state|battery)"
)
_NOT_FLOWN = ("/mavros/", "/fmu/in/")  # parts of topics that set or repeat a pose
_UNNAMED = "vehicle"  # name of the vehicle of a MAVROS without a namespace
_MODES = {name: number for number, name in NAV_STATES.items()}
_MAX_POSITION = 1e7  # largest coordinate of any vehicle [m]
Topics = dict[str, list[tuple[Any, ...]]]  # rows of time and values, by topic


def read(path: Path, vehicle: str, world: str) -> Recording:
    """Returns a bag, with all that has poses in it.

    Args:
        path: The bag, of ROS 1 or ROS 2.
        vehicle, world: Types of what a bag does not name.

    Raises:
        WebError: It is damaged or has no poses, or rosbags is missing.
    """
    content = _content(path)
    names = [name for name, topics in content.items() if topics["pose"]]
    if len(names) > MAX_FLEET:
        raise WebError(
            f"'{path}' has poses of {len(names)} vehicles: give a bag of {MAX_FLEET} or fewer"
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
        "rosbag" if path.suffix.lower() == ".bag" else "ROS 2 bag",
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
    content: dict[str, Topics] = defaultdict(lambda: defaultdict(list))
    with bags.opened(path, WebError) as bag:
        about = {topic: known for topic in bag.topics if (known := _MAVROS.fullmatch(topic))}
        for topic, t_s, message in bag.messages(about):
            what, kind = about[topic][2].rpartition("/")[2], bag.topics[topic]
            content[about[topic][1] or _UNNAMED][what].append((t_s, *_values(message, kind, what)))
        for topics in content.values():
            topics["pose"] = topics["pose"] or topics["odom"]
        found = bag.poses(lambda topic: not any(part in topic for part in _NOT_FLOWN))
        if not found and not any(topics["pose"] for topics in content.values()):
            found = bag.transforms()
        for name, table in found.items():
            content[name.strip("/")]["pose"] = table.tolist()
        if not any(topics["pose"] for topics in content.values()):
            raise WebError(
                f"'{shown(path)}' is no recording of this simulation, and has no poses "
                f"({bags.WANTED}): it has {bag.described()}"
            )
    return content


def _values(message: bags.RosMessage, kind: str, what: str) -> tuple[Any, ...]:  # by kind and what
    if what == "state":
        return float(message.armed), message.mode
    if what == "battery":
        return message.voltage, message.current, message.percentage
    if what == "velocity_local":
        linear, angular = message.twist.linear, message.twist.angular
        return linear.x, linear.y, linear.z, angular.x, angular.y, angular.z
    return bags.pose(kind, message)
