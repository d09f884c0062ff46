"""Records topics into a bag (format 2.0), in the process that publishes most of them.

What this node publishes is written as it is published, without a socket; everything else that
matches is subscribed to. The file is written in small chunks: after a crash `rosbag reindex`
restores all but the last one. As with rosbag, its name ends in .active until it is complete.
Chunks that a full disk does not take are left out.
"""

import contextlib
import re
import struct
import threading
from pathlib import Path

import rosgraph
import rospy

from xtdrone_core.runs import run_folder
from xtdrone_core.runs.log_file import LogFile, LogGaps
from xtdrone_ros1.errors import Ros1Error
from xtdrone_ros1.ros_tools import MASTER_S, Input, Output, ros_class

TOPICS = (
    r"/clock|/tf|/xtdrone/.*|/[^/]+/mavros/(state|extended_state|statustext/recv|"
    r"local_position/(pose|velocity_local)|setpoint_raw/local|home_position/home)"
)
CHUNK = 64 << 10  # [bytes]
_HEADER_SIZE = 4096  # of the bag's header with its padding; rosbag reindex relies on it [bytes]
_MESSAGE, _BAG, _INDEX, _CHUNK, _INFO, _CONNECTION = 2, 3, 4, 5, 6, 7  # operations


def _fields(operation: int, **values: bytes) -> bytes:
    """A record's header behind its length."""
    text = b"".join(
        struct.pack("<I", len(name) + 1 + len(value)) + name.encode() + b"=" + value
        for name, value in {"op": bytes([operation]), **values}.items()
    )
    return struct.pack("<I", len(text)) + text


def _record(header: bytes, data: bytes) -> bytes:
    return b"".join((header, struct.pack("<I", len(data)), data))


def _u32(value: int) -> bytes:
    return struct.pack("<I", value)


def _u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def _time(t_us: int) -> bytes:
    return struct.pack("<II", t_us // 1_000_000, t_us % 1_000_000 * 1000)


class Bag:
    """A bag that is being written."""

    def __init__(self, path: Path, gaps: LogGaps | None = None):
        """Begins a file.

        Args:
            path: Of the bag.
            gaps: Collects what the disk does not take; None: its own.

        Raises:
            OSError: It cannot be written.
        """
        self._path = path
        self._active = path.with_name(path.name + ".active")
        self._log = LogFile(path, gaps or LogGaps())
        self._file = open(self._active, "wb", buffering=0)
        self._connections: list[bytes] = []
        self._heads: list[bytes] = []  # of a message of each connection, up to its time
        self._infos: list[bytes] = []  # of the chunks
        self._begin_chunk()
        self._file.write(b"#ROSBAG V2.0\n")
        self._write_header(0)

    def connection(self, topic: str, kind: str, md5: str, definition: str) -> int:
        """The number of a new connection, for write()."""
        number = len(self._connections)
        inner = b"".join(
            struct.pack("<I", len(name) + 1 + len(value)) + name + b"=" + value
            for name, value in (
                (b"topic", topic.encode()),
                (b"type", kind.encode()),
                (b"md5sum", md5.encode()),
                (b"message_definition", definition.encode()),
            )
        )
        record = _record(_fields(_CONNECTION, conn=_u32(number), topic=topic.encode()), inner)
        self._connections.append(record)
        head = _fields(_MESSAGE, conn=_u32(number), time=bytes(8))
        self._heads.append(head[:-8])
        self._add(record)
        return number

    def write(self, number: int, t_us: int, data: bytes) -> None:
        """Writes a message that came at t_us of simulated time."""
        stamp = _time(t_us)
        self._index.setdefault(number, []).append(stamp + _u32(self._size))
        self._first, self._last = min(self._first, t_us), max(self._last, t_us)
        self._add(b"".join((self._heads[number], stamp, struct.pack("<I", len(data)), data)))
        if self._size >= CHUNK:
            self._end_chunk()

    def close(self) -> None:
        """Completes the file; on a full disk it stays .active. May be called twice."""
        if self._file.closed:
            return
        self._end_chunk()
        position = self._file.tell()
        with self._file:
            if self._append(b"".join((*self._connections, *self._infos)), self._log.good_us):
                self._file.seek(13)
                self._write_header(position)
                self._active.rename(self._path)

    def _append(self, data, t_us):
        """Appends bytes that belong together; False if the disk does not take them."""
        position, rest = self._file.tell(), memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._file.seek(position)
            with contextlib.suppress(OSError):
                self._file.truncate()
            self._log.fail(error.strerror or str(error), t_us)
            return False
        self._log.succeed(t_us)
        return True

    def _add(self, record):
        self._parts.append(record)
        self._size += len(record)

    def _begin_chunk(self):
        self._parts: list[bytes] = []
        self._size = 0  # [bytes]
        self._index: dict[int, list[bytes]] = {}  # by connection: times and offsets
        self._first, self._last = 1 << 62, 0  # times of its messages [us]

    def _end_chunk(self):
        if not self._index:
            return
        position, data = self._file.tell(), b"".join(self._parts)
        counts = b""
        records = [_record(_fields(_CHUNK, compression=b"none", size=_u32(len(data))), data)]
        for number, entries in self._index.items():
            records.append(
                _record(
                    _fields(_INDEX, ver=_u32(1), conn=_u32(number), count=_u32(len(entries))),
                    b"".join(entries),
                )
            )
            counts += struct.pack("<II", number, len(entries))
        if self._append(b"".join(records), self._last):
            self._infos.append(
                _record(
                    _fields(
                        _INFO,
                        ver=_u32(1),
                        chunk_pos=_u64(position),
                        start_time=_time(self._first),
                        end_time=_time(self._last),
                        count=_u32(len(self._index)),
                    ),
                    counts,
                )
            )
        self._begin_chunk()

    def _write_header(self, position):
        head = _fields(
            _BAG,
            index_pos=_u64(position),
            conn_count=_u32(len(self._connections)),
            chunk_count=_u32(len(self._infos)),
        )
        self._file.write(_record(head, b" " * (_HEADER_SIZE - (len(head) - 4))))


class Recorder:
    """Records all topics of a pattern: a bridge's Outputs, and those of other nodes.

    Attributes:
        now_us: Simulated time of what comes now [us].
    """

    def __init__(self, path: Path, pattern: str = TOPICS, gaps: LogGaps | None = None):
        """Begins a bag; has to be there before the Outputs that it records.

        Args:
            path: Of the bag.
            pattern: Regular expression of the topics' names.
            gaps: As of Bag.

        Raises:
            OSError: It cannot be written.
        """
        self.now_us = 0
        self._bag, self._lock = Bag(path, gaps), threading.Lock()
        self._closed = False
        self._pattern = re.compile(pattern)
        self._known: set[str] = set()
        Output.recorder = self
        self._looking = threading.Thread(target=self._look, daemon=True, name="recorder")
        self._looking.start()

    def tap(self, topic, kind):
        """A function that records a message of this topic, or None."""
        if not self._pattern.fullmatch(topic):
            return None
        self._known.add(topic)
        return self._writer(topic, kind)

    def close(self) -> None:
        """Completes the bag. May be called twice."""
        with self._lock:
            self._closed = True
            self._bag.close()

    def _writer(self, topic, kind):
        cls = ros_class(kind)
        with self._lock:
            number = self._bag.connection(topic, kind, cls._md5sum, cls._full_text)

        def write(data):
            with self._lock:
                if not self._closed:
                    self._bag.write(number, self.now_us, data)

        return write

    def _look(self):
        """Subscribes to what other nodes publish."""
        master = rosgraph.Master(rospy.get_name())
        ending = threading.Event()
        rospy.on_shutdown(ending.set)
        while not ending.wait(0.5 * MASTER_S):
            with contextlib.suppress(OSError, rosgraph.MasterException):
                for topic, kind in master.getPublishedTopics(""):
                    if topic not in self._known and self._pattern.fullmatch(topic):
                        self._subscribe(topic, kind)

    def _subscribe(self, topic, kind):
        self._known.add(topic)
        try:
            Input(topic, kind, self._writer(topic, kind))
        except (ImportError, AttributeError):
            rospy.logwarn("%s is not recorded: its type %s is not known here", topic, kind)


def begin(folder: str | None, pattern: str) -> Recorder:
    """A Recorder of bags/ros.bag in a run folder.

    Raises:
        Ros1Error: There is no folder, or it cannot be written.
    """
    if folder is None:
        raise Ros1Error(
            "the simulation has no run folder to record into: start it without --no_run_folder"
        )

    def warn(text):
        rospy.logwarn("%s", text)
        with contextlib.suppress(OSError):  # the simulation keeps what it finds in its summary
            size = (Path(folder) / run_folder.SUMMARY).stat().st_size
            run_folder.update_summary(Path(folder), reserve=size, bag_gaps=gaps.table())

    gaps = LogGaps(Path(folder), warn)
    try:
        return Recorder(Path(folder) / "bags" / "ros.bag", pattern, gaps)
    except (OSError, re.error) as error:
        raise Ros1Error(f"cannot record '{pattern}' into {folder}/bags: {error}") from error
