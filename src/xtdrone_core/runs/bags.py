"""Bags of ROS 1 and ROS 2, also of other programs, read without ROS: messages and poses.

A bag is a file of ROS 1 (.bag), one of ROS 2 (.mcap, .db3), or the folder of a ROS 2 bag.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import extras, files, frames
from ..errors import XtdroneError, shown

if TYPE_CHECKING:  # an optional extra
    from rosbags.highlevel import AnyReader
    from rosbags.typesys.store import Typestore

RosMessage: TypeAlias = Any  # rosbags makes the classes of messages at run time
SUFFIXES = (".bag", ".mcap", ".db3")
# Message type with a pose: attribute paths of position and quaternion.
POSES = {
    "geometry_msgs/msg/PoseStamped": ("pose.position", "pose.orientation"),
    "geometry_msgs/msg/PoseWithCovarianceStamped": ("pose.pose.position", "pose.pose.orientation"),
    "geometry_msgs/msg/TransformStamped": ("transform.translation", "transform.rotation"),
    "nav_msgs/msg/Odometry": ("pose.pose.position", "pose.pose.orientation"),
}
PX4_ODOMETRY = "px4_msgs/msg/VehicleOdometry"  # north, east, down; quaternion wxyz
TRANSFORMS = ("tf2_msgs/msg/TFMessage", "tf/msg/tfMessage")
WANTED = "PoseStamped, PoseWithCovarianceStamped, Odometry, TransformStamped, VehicleOdometry or tf"
_STATIC = "/tf_static"
_BODIES = ("base_link", "base_footprint")  # names of a vehicle's frame; the first that is there
_MAX_LISTED = 12  # topics in a message


def is_bag(path: Path | str) -> bool:
    """Returns whether a path has the form of a bag: one of SUFFIXES, or a ROS 2 bag's folder."""
    path = Path(path)
    return path.suffix.lower() in SUFFIXES or files.is_file(path / "metadata.yaml")


@contextmanager
def opened(path: Path, error: type[XtdroneError] = files.FileError) -> Iterator["BagReader"]:
    """Opens a bag; what goes wrong inside, in damaged bytes as well, is one line.

    Raises:
        XtdroneError: It is no bag or damaged, or rosbags is missing.
    """
    if not files.is_folder(path):
        files.check(path, "bag", error)
    extras.require("rosbags", "a bag", "slam", error)
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    is_ros1 = path.suffix.lower() == ".bag"
    with ExitStack() as stack:
        try:
            store = get_typestore(Stores.ROS1_NOETIC if is_ros1 else Stores.ROS2_HUMBLE)
            reader = stack.enter_context(AnyReader([path], default_typestore=store))
            # Types of the bag, and those that it does not describe.
            types = get_typestore(Stores.EMPTY)
            types.register({**store.fielddefs, **reader.typestore.fielddefs})
            yield BagReader(reader, types, is_ros1)
        except XtdroneError:
            raise
        except Exception as failed:  # damaged bytes raise any of them in rosbags
            repair = "rosbag reindex" if is_ros1 else "mcap recover or ros2 bag reindex"
            raise error(
                f"cannot read '{shown(path)}': {shown(failed) or type(failed).__name__}; repair a "
                f"truncated recording by {repair}"
            ) from failed


class BagReader:
    """A bag that is open.

    Attributes:
        topics: Message type of each topic, as ROS 2 writes it.
        counts: Number of messages of each topic.
        duration_s: Time between the first and the last message [s].
    """

    def __init__(self, reader: "AnyReader", types: "Typestore", is_ros1: bool) -> None:
        """Takes an open reader of rosbags, and the types of its messages."""
        self._reader, self._types = reader, types
        self._read = types.deserialize_ros1 if is_ros1 else types.deserialize_cdr
        self.topics = {each.topic: each.msgtype for each in reader.connections}
        self.counts: dict[str, int] = defaultdict(int)
        for each in reader.connections:
            self.counts[each.topic] += each.msgcount
        self.duration_s = 1e-9 * reader.duration

    def messages(self, topics: Collection[str]) -> Iterator[tuple[str, float, RosMessage]]:
        """Yields topic, time [s] and message, in the order of the recording.

        The time is that of the message's header, and of the recording where it has none.
        """
        wanted = [
            each
            for each in self._reader.connections
            if each.topic in topics and each.msgtype in self._types.fielddefs
        ]
        if not wanted:  # without any, rosbags would read all
            return
        for connection, recorded_ns, raw in self._reader.messages(wanted):
            message: RosMessage = self._read(raw, connection.msgtype)
            yield connection.topic, _seconds(message, recorded_ns), message

    def poses(self, is_wanted: Callable[[str], bool] = lambda _: True) -> dict[str, np.ndarray]:
        """Reads the poses (T, 8) of topics, as rows of a TUM file with rising times.

        Args:
            is_wanted: Tells by its name whether a topic's poses are wanted.
        """
        rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        kinds = (*POSES, PX4_ODOMETRY)
        topics = [t for t, kind in self.topics.items() if kind in kinds and is_wanted(t)]
        for topic, t_s, message in self.messages(topics):
            rows[topic].append((t_s, *pose(self.topics[topic], message)))
        return {topic: table for topic in rows if len(table := _clean(rows[topic]))}

    def transforms(self) -> dict[str, np.ndarray]:
        """Reads the poses (T, 8) of vehicles' frames in the root of tf's tree, by their names."""
        tree = _Tree()
        topics = [topic for topic, kind in self.topics.items() if kind in TRANSFORMS]
        for topic, recorded_s, message in self.messages(topics):
            for each in message.transforms:
                t_s = _seconds(each, round(recorded_s * 1e9))
                row = (t_s, *pose("geometry_msgs/msg/TransformStamped", each))
                child, parent = (
                    name.strip("/") for name in (each.child_frame_id, each.header.frame_id)
                )
                tree.add(parent, child, row, topic.endswith(_STATIC))
        return tree.vehicles()

    def described(self) -> str:
        """Lists the topics with their types, for messages."""
        known = [f"{t} ({kind.replace('/msg/', '/')})" for t, kind in sorted(self.topics.items())]
        more = f" and {len(known) - _MAX_LISTED} more" if len(known) > _MAX_LISTED else ""
        return ", ".join(known[:_MAX_LISTED]) + more or "no topic"


class _Tree:
    """Frames of tf."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._rows: dict[str, list[tuple[float, ...]]] = defaultdict(list)
        self._moving: set[str] = set()

    def add(self, parent: str, child: str, row: tuple[float, ...], is_static: bool) -> None:
        if self._parents.setdefault(child, parent) == parent:
            self._rows[child].append(row)
            if not is_static:
                self._moving.add(child)

    def vehicles(self) -> dict[str, np.ndarray]:
        """Returns poses of the vehicles' frames: base_link, or those that move in the root."""
        moving = [frame for frame in self._parents if self._moving.intersection(self._chain(frame))]
        frames = {frame: frame for frame in moving if self._parents[frame] not in self._parents}
        for body in _BODIES:
            named = [frame for frame in moving if frame.rpartition("/")[2] == body]
            if named:
                frames = {frame: frame.rpartition("/")[0] or frame for frame in named}
                break
        tables = {name: self._pose(frame) for frame, name in frames.items()}
        return {name: table for name, table in tables.items() if len(table)}

    def _chain(self, frame: str) -> list[str]:
        """Returns a frame and those above it, without the root."""
        chain: list[str] = []
        while frame in self._parents and frame not in chain:
            chain.append(frame)
            frame = self._parents[frame]
        return chain

    def _pose(self, frame: str) -> np.ndarray:
        """Returns poses (T, 8) of a frame in the root, at the times of its fastest transform."""
        tables = [_clean(self._rows[each]) for each in self._chain(frame)]
        if not all(map(len, tables)):
            return np.empty((0, 8))
        t_s = max(tables, key=len)[:, 0]
        out = _at(tables[0], t_s)
        for table in tables[1:]:
            out = _compose(_at(table, t_s), out)
        return out


def pose(kind: str, message: RosMessage) -> tuple[float, ...]:
    """Returns position and quaternion xyzw of a message, as seven numbers.

    Args:
        kind: Its type: one of POSES, or PX4_ODOMETRY, whose axes become ENU and FLU.
        message: The message.
    """
    if kind == PX4_ODOMETRY:
        w, x, y, z = map(float, message.q)
        north, east, down = map(float, message.position)
        return east, north, -down, *map(float, frames.quat_enu_ned((x, y, z, w)))
    position, quat = (_attribute(message, path) for path in POSES[kind])
    return position.x, position.y, position.z, quat.x, quat.y, quat.z, quat.w


def _attribute(value: RosMessage, path: str) -> RosMessage:
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _seconds(message: RosMessage, recorded_ns: int) -> float:
    """Returns the time of a message's header [s], or of the recording if it has none."""
    header = getattr(message, "header", None)
    if header is None:
        stamp_ns = int(getattr(message, "timestamp", 0)) * 1000  # PX4's messages have it [us]
    else:
        stamp_ns = header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
    return (stamp_ns or recorded_ns) * 1e-9


def _clean(rows: list[tuple[float, ...]]) -> np.ndarray:
    """Returns finite rows (T, 8) with rising times; a quaternion of zeros is no rotation."""
    table = np.array(rows, dtype=float).reshape(-1, 8)
    table = table[np.isfinite(table).all(axis=1)]
    table = table[np.unique(table[:, 0], return_index=True)[1]]
    norms = np.linalg.norm(table[:, 4:], axis=1, keepdims=True)
    table[:, 4:] = np.where(norms > 1e-6, table[:, 4:] / np.maximum(norms, 1e-6), (0, 0, 0, 1))
    return table


def _at(table: np.ndarray, t_s: np.ndarray) -> np.ndarray:
    """Returns poses (K, 8) at times (K,): positions interpolated, attitudes of the last sample."""
    last = np.maximum(np.searchsorted(table[:, 0], t_s, side="right") - 1, 0)
    position = [np.interp(t_s, table[:, 0], table[:, k]) for k in (1, 2, 3)]
    return np.column_stack([t_s, *position, table[last, 4:]])


def _compose(outer: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Returns inner poses (K, 8) in the frame in which the outer ones (K, 8) are given."""
    v, w = outer[:, 4:7], outer[:, 7:]
    u, s = inner[:, 4:7], inner[:, 7:]
    turned = inner[:, 1:4] + 2.0 * np.cross(v, np.cross(v, inner[:, 1:4]) + w * inner[:, 1:4])
    vector = w * u + s * v + np.cross(v, u)
    scalar = w * s - np.sum(v * u, axis=1, keepdims=True)
    return np.column_stack([inner[:, 0], outer[:, 1:4] + turned, vector, scalar])
