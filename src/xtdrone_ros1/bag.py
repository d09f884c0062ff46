"""Writes a bag (format 2.0).

The file is written in small chunks: after a crash `rosbag reindex`
restores all but the last one. As with rosbag, its name ends in .active until it is complete.
Chunks that a full disk does not take are left out.
"""

import contextlib
import struct
from pathlib import Path

from xtdrone_core.runs.log_file import LogFile, LogGaps

CHUNK = 64 << 10  # size of a chunk [bytes]
_HEADER_SIZE = 4096  # bag's header with its padding; rosbag reindex relies on it [bytes]
_MESSAGE, _BAG, _INDEX, _CHUNK, _INFO, _CONNECTION = 2, 3, 4, 5, 6, 7  # operations


def _fields(operation: int, **values: bytes) -> bytes:
    """Returns a record's header behind its length."""
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
            path: File of the complete bag.
            gaps: Collects what the disk does not take; None: a new collection.

        Raises:
            OSError: It cannot be written.
        """
        self._path = path
        self._active = path.with_name(path.name + ".active")
        self._log = LogFile(path, gaps or LogGaps())
        self._file = open(self._active, "wb", buffering=0)
        self._connections: list[bytes] = []
        self._heads: list[bytes] = []  # by connection: a message's header up to its time
        self._infos: list[bytes] = []  # records about the chunks
        self._first = self._last = 0
        self._begin_chunk()
        self._file.write(b"#ROSBAG V2.0\n")
        self._write_header(0)

    def connection(self, topic: str, kind: str, md5: str, definition: str) -> int:
        """Adds a connection; returns its number, for write()."""
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

    def _append(self, data: bytes, t_us: int) -> bool:
        """Appends bytes that belong together; returns False if the disk does not take them."""
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

    def _add(self, record: bytes) -> None:
        self._parts.append(record)
        self._size += len(record)

    def _begin_chunk(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0  # [bytes]
        self._index: dict[int, list[bytes]] = {}  # by connection: times and offsets
        self._first, self._last = 1 << 62, 0  # first and last time of its messages [us]

    def _end_chunk(self) -> None:
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

    def _write_header(self, position: int) -> None:
        head = _fields(
            _BAG,
            index_pos=_u64(position),
            conn_count=_u32(len(self._connections)),
            chunk_count=_u32(len(self._infos)),
        )
        self._file.write(_record(head, b" " * (_HEADER_SIZE - (len(head) - 4))))
