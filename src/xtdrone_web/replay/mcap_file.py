"""MCAP recordings of this simulation, as scenario option mcap makes them; also incomplete ones.

Those of ROS 2 are read as bags.
"""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from xtdrone_autopilot.ulog.reader import NAV_STATES
from xtdrone_core import Scenario, extras
from xtdrone_core.errors import shown
from xtdrone_sim.vehicles.sdf import load_vehicle
from xtdrone_sim.world import load_world

from ..errors import WebError
from ..foxglove.channels import STATE
from ..foxglove.telemetry import METADATA
from ..frame import VEHICLE
from . import bag
from .recording import NO_MODE, Recording, empty, grid, hold, interpolate, interpolate_attitude

if TYPE_CHECKING:  # an optional extra
    from mcap.records import Channel, Message, Schema

Rows = list[tuple[float, ...]]  # time, position and attitude
States = list[tuple[float, dict[str, Any]]]  # times and JSON of a vehicle
Decoded: TypeAlias = Any  # a class or object that protobuf makes at run time
_ROS2 = "cdr"  # encoding of ROS 2's messages
_MAX_LISTED = 12  # topics in a message
_ROTORS = VEHICLE["actuator"].shape[0]
_SEVERITIES = {1: 7, 2: 6, 3: 4, 4: 3, 5: 2}  # MAVLink's severities of foxglove.Log's levels
_MODES = {name: number for number, name in NAV_STATES.items()}


def read(path: Path, vehicle: str, world: str) -> Recording:
    """Returns a recording, up to its last whole chunk; of another program, if it is a ROS 2 bag.

    Args:
        path: The file.
        vehicle, world: Types of what a bag does not name.

    Raises:
        WebError: It is damaged, is not of this simulation and has no poses of ROS 2, or mcap,
            protobuf or rosbags are missing.
    """
    content = _content(path)
    if content.is_ros2:
        return bag.read(path, vehicle, world)
    if content.scenario is None:
        topics = ", ".join(sorted(content.topics)[:_MAX_LISTED]) or "no topic"
        raise WebError(
            f"'{shown(path)}' is no recording of this simulation: give a run.mcap that --mcap true "
            f"wrote, or a bag of ROS 2; it has {topics}"
        )
    scenario, poses, states = content.scenario, content.poses, content.states
    specs = list(scenario.vehicles)
    rows = [poses.get(spec.name) for spec in specs]
    if not all(rows):
        raise WebError(
            f"'{path}' has no poses of all its vehicles: the flight has to last a second"
        )
    arrays = [np.array(each) for each in rows]
    t_s = grid(min(each[0, 0] for each in arrays), max(each[-1, 0] for each in arrays), len(specs))
    table = empty(len(t_s), len(specs))
    for i, (spec, each) in enumerate(zip(specs, arrays, strict=True)):
        records = table[:, i]
        records["pos"] = interpolate(t_s, each[:, 0], each[:, 1:4])
        records["quat"] = interpolate_attitude(t_s, each[:, 0], each[:, 4:8])
        _fill(records, t_s, poses.get(f"/{spec.name}/estimate"), states[spec.name])
    return Recording(
        path.name,
        "MCAP",
        load_world(scenario.world),
        specs,
        [load_vehicle(spec.type) for spec in specs],
        t_s,
        table,
        content.events,
    )


def _fill(records: np.ndarray, t_s: np.ndarray, estimate: Rows | None, states: States) -> None:
    """Fills in estimates, and the JSON of a vehicle."""
    for name in ("est_pos", "est_quat", "est_vel"):
        records[name] = np.nan
    if estimate:
        rows = np.array(estimate)
        records["est_pos"] = interpolate(t_s, rows[:, 0], rows[:, 1:4])
        records["est_quat"] = interpolate_attitude(t_s, rows[:, 0], rows[:, 4:8])
    if not states:
        return
    at_s = np.array([t for t, _ in states])

    def column(name: str, width: int = 1) -> np.ndarray:
        return np.array([_numbers(state.get(name), width) for _, state in states])

    for name, source in (
        ("vel", "velocity"),
        ("rates", "rates"),
        ("est_vel", "estimated_velocity"),
    ):
        records[name] = interpolate(t_s, at_s, column(source, 3))
    known, values = hold(t_s, at_s, column("actuators", _ROTORS))
    records["actuator"][known] = np.nan_to_num(values)
    records["wind"][known] = np.nan_to_num(hold(t_s, at_s, column("wind", 3))[1])
    for name in ("voltage", "current", "armed", "landed", "ready"):
        values = hold(t_s, at_s, column(name))[1][:, 0]
        records[name][known] = values if name in ("voltage", "current") else values > 0.0
    modes = np.array([_MODES.get(str(state.get("mode")), NO_MODE) for _, state in states])
    records["mode"][known] = hold(t_s, at_s, modes)[1]


def _numbers(value: object, width: int) -> list[float]:
    """Returns so many numbers of a JSON value; NaN where it has none."""
    given = value if isinstance(value, list) else [value]
    known = [float(x) if isinstance(x, (int, float)) else np.nan for x in given[:width]]
    return known + [np.nan] * (width - len(known))


@dataclass
class _Content:
    """What a file has."""

    scenario: Scenario | None = None
    is_ros2: bool = False  # then nothing else was read
    topics: set[str] = field(default_factory=set)
    poses: defaultdict[str, Rows] = field(default_factory=lambda: defaultdict(list))  # by vehicle
    states: defaultdict[str, States] = field(default_factory=lambda: defaultdict(list))
    events: list[dict[str, Any]] = field(default_factory=list)


def _content(path: Path) -> _Content:
    try:
        from mcap.exceptions import EndOfFile
        from mcap.records import Channel, Message, Metadata, Schema
        from mcap.stream_reader import StreamReader
    except ImportError as error:
        raise WebError(extras.lacking("an MCAP file", error, "foxglove")) from error
    content, schemas, channels = _Content(), Schemas(), {}
    with open(path, "rb") as file:
        try:
            for record in StreamReader(file).records:
                if isinstance(record, Metadata) and record.name == METADATA:
                    content.scenario = Scenario.from_dict(json.loads(record.metadata["scenario"]))
                elif isinstance(record, Schema):
                    schemas.add(record)
                elif isinstance(record, Channel):
                    channels[record.id] = record
                    content.topics.add(record.topic)
                    if content.scenario is None and record.message_encoding == _ROS2:
                        content.is_ros2 = True
                        break
                elif isinstance(record, Message) and content.scenario is not None:
                    _take(record, channels[record.channel_id], schemas, content)
        except EndOfFile:
            pass  # the simulation was killed: what there is counts
        except WebError:
            raise
        except Exception as error:  # damaged bytes raise any of them in mcap and protobuf
            raise WebError(
                f"cannot read '{path}': {shown(error) or type(error).__name__}; it is "
                "no MCAP, or damaged"
            ) from error
    return content


def _take(record: "Message", channel: "Channel", schemas: "Schemas", content: _Content) -> None:
    """Adds a message to what is known."""
    t_s, topic = record.log_time * 1e-9, channel.topic
    if channel.message_encoding == "json" and topic.endswith(f"/{STATE}"):
        content.states[topic[1 : -len(STATE) - 1]].append((t_s, json.loads(record.data)))
    elif topic == "/tf":
        for tf in schemas.decoded(channel.schema_id, record.data).transforms:
            if tf.parent_frame_id == "world":
                content.poses[tf.child_frame_id].append(_row(t_s, tf.translation, tf.rotation))
    elif topic.endswith("/estimate"):
        pose = schemas.decoded(channel.schema_id, record.data).pose
        content.poses[topic].append(_row(t_s, pose.position, pose.orientation))
    elif topic == "/log":
        log = schemas.decoded(channel.schema_id, record.data)
        content.events.append(
            {"t": t_s, "level": _SEVERITIES.get(log.level, 6), "who": log.name, "text": log.message}
        )


def _row(t_s: float, p: Decoded, q: Decoded) -> tuple[float, ...]:
    return t_s, p.x, p.y, p.z, q.x, q.y, q.z, q.w


class Schemas:
    """Decodes protobuf messages by the schemas that the file carries."""

    def __init__(self) -> None:
        """Begins without any."""
        self._given: dict[int, Schema] = {}
        self._classes: dict[int, Decoded] = {}

    def add(self, schema: "Schema") -> None:
        """Adds a schema of the file."""
        self._given[schema.id] = schema

    def decoded(self, number: int, data: bytes) -> Decoded:
        """Returns a message."""
        if number not in self._classes:
            self._classes[number] = self._class(self._given[number])
        return self._classes[number].FromString(data)

    def _class(self, schema: "Schema") -> Decoded:
        try:
            from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        except ImportError as error:
            raise WebError(extras.lacking("an MCAP file", error, "foxglove")) from error
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(schema.data).file:
            pool.Add(file)
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(schema.name))
