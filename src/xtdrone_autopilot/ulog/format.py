"""PX4's ULog file format, version 1: header messages, and the byte layout of topics.

https://docs.px4.io/main/en/dev_log/ulog_file_format.html
"""

import functools
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core.errors import unknown_name
from xtdrone_core.files import read_yaml
from xtdrone_core.state import ExtraReadings

from ..errors import AutopilotError
from ..parameters.store import table
from .kernel import AS_DOUBLE, AS_SINGLE, AS_WHOLE, MessageLayout
from .snapshot import SNAPSHOT

MAGIC = b"ULog\x01\x12\x35\x01"  # the last byte is the version of the format
DATA, FORMAT, INFO, PARAMETER, SUBSCRIBE, TEXT, FLAGS, DROPOUT = b"DFIPALBO"
PREFIX = 5  # bytes before a topic's fields: size, 'D', message id

_STRUCT = {
    "bool": "?",
    "uint8_t": "B",
    "int8_t": "b",
    "uint16_t": "H",
    "int16_t": "h",
    "uint32_t": "I",
    "int32_t": "i",
    "uint64_t": "Q",
    "int64_t": "q",
    "float": "f",
    "double": "d",
}
_STEP_US = 4_000  # period of the lockstep [us]
_MAX_DROPOUT_MS = 60_000  # longest time in one dropout message, whose field ends at 65535 [ms]
_SIZE = {kind: struct.calcsize("<" + code) for kind, code in _STRUCT.items()}


def message(kind: int, payload: bytes) -> bytes:
    """Returns a message of a ULog: size, type, payload."""
    return struct.pack("<HB", len(payload), kind) + payload


def information(key: str, value: str | int) -> bytes:
    """Returns an information message; an integer is written as uint32."""
    if isinstance(value, str):
        name, data = f"char[{len(value)}] {key}", value.encode()
    else:
        name, data = f"uint32_t {key}", struct.pack("<I", value)
    return message(INFO, bytes([len(name)]) + name.encode() + data)


def parameter(name: str, kind: type, bits: int) -> bytes:
    """Returns a parameter message; bits are the four bytes of its value as an integer."""
    label = f"{'int32_t' if kind is int else 'float'} {name}"
    return message(PARAMETER, bytes([len(label)]) + label.encode() + struct.pack("<I", bits))


def parameters(bits: np.ndarray) -> bytes:
    """Returns the messages of all listed parameters, for a row (P,) of ParameterStore.bits()."""
    template, columns, offsets = _parameter_template()
    data = template.copy()
    data[offsets] = bits[columns].view(np.uint8).reshape(-1, 4)
    return data.tobytes()


@functools.cache
def _parameter_template() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the messages of the L listed parameters, with values of 0.

    Returns:
        Their bytes, columns (L,) of ParameterStore.bits(), and offsets of the values' bytes (L, 4).
    """
    columns = [(k, p) for k, p in enumerate(table().values()) if p.listed]
    messages = [parameter(p.name, p.type, 0) for _, p in columns]
    ends = np.cumsum([len(each) for each in messages])
    return (
        np.frombuffer(b"".join(messages), dtype=np.uint8),
        np.array([k for k, _ in columns]),
        ends[:, None] - np.arange(4, 0, -1),
    )


def text(severity: int, t_us: int, words: str) -> bytes:
    """Returns a text message; severity is a MAV_SEVERITY, which equals the syslog level."""
    return message(TEXT, struct.pack("<BQ", ord("0") + severity, t_us) + words.encode())


def dropout(length_us: int) -> bytes:
    """Returns dropout messages for a gap in the log, one per minute of it."""
    whole, rest = divmod(length_us // 1000, _MAX_DROPOUT_MS)
    return b"".join(
        message(DROPOUT, struct.pack("<H", milliseconds))
        for milliseconds in (*[_MAX_DROPOUT_MS] * whole, rest)
    )


Run = tuple[int, int, int, int]  # AS_..., byte in the source, byte in the message, count


@dataclass(frozen=True)
class Topic:
    """One topic: PX4's name and format, and the bytes to copy from the snapshot."""

    name: str
    format: str  # text of the FORMAT message
    size: int  # size of a data message, without trailing padding [bytes]
    runs: tuple[Run, ...]  # bytes to copy
    constants: tuple[tuple[int, bytes], ...]  # offset and bytes of each constant field
    periods: dict[str, int]  # period of each profile, 0 = not logged [us]
    on_change: bool  # also logged when the vehicle's state changes
    where: int  # logged only if this number of the snapshot is not 0; -1 = always


class ExtraTopic:
    """Topic of an additional kind of sensor; name and format as in Topic."""

    def __init__(self, extra: ExtraReadings, number: int):
        """Prepares the messages of a topic.

        Args:
            extra: Readings of the sensor, which has a log.
            number: Message id of the topic.

        Raises:
            AutopilotError: A field has a type that ULog lacks.
        """
        assert extra.log is not None
        self._log, self._extra, self._number = extra.log, extra, number
        self.name = extra.log.name
        self.period_us = max(round(1e6 / (extra.log.rate * _STEP_US)), 1) * _STEP_US
        kinds = ["uint64_t timestamp"]
        columns: list[Any] = [("timestamp", "<u8")]  # field descriptions of a dtype
        for field, (kind, values) in extra.log.fields.items():
            if kind not in _STRUCT:
                raise AutopilotError(unknown_name(f"type of {self.name}.{field}", kind, _STRUCT))
            width = np.shape(values(extra.records, 0))[1:]
            kinds.append(f"{kind}[{width[0]}] {field}" if width else f"{kind} {field}")
            columns.append((field, np.dtype(_STRUCT[kind]).newbyteorder("<"), width))
        self.format = f"{self.name}:{';'.join(kinds)};"
        self._rows = np.zeros(len(extra.records), dtype=columns)

    def messages(self, t_us: int) -> Iterator[tuple[int, bytes]]:
        """Yields (vehicle, data message) for each vehicle that has the sensor."""
        self._rows["timestamp"] = t_us
        for field, (_, values) in self._log.fields.items():
            self._rows[field] = values(self._extra.records, t_us)
        for i in np.flatnonzero(self._extra.fitted).tolist():
            yield i, message(DATA, struct.pack("<H", self._number) + self._rows[i].tobytes())


def data_prefix(topic: Topic, number: int) -> bytes:
    """Returns the first PREFIX bytes of a data message; number is the topic's message id."""
    return struct.pack("<HBH", topic.size - 3, DATA, number)


@functools.cache
def topics() -> tuple[Topic, ...]:
    """Returns the topics of topics.yaml.

    Raises:
        AutopilotError: The file names an unknown field or column, or sizes differ.
    """
    rows = read_yaml(Path(__file__).with_name("topics.yaml"), "topics")
    return tuple(topic_of(name, row) for name, row in rows.items())


def topic_of(name: str, row: dict[str, Any]) -> Topic:
    """Returns the topic that a row of topics.yaml describes.

    Raises:
        AutopilotError: The row names an unknown field or column, or sizes differ.
    """
    fields = re.sub(r";\s+", ";", row["fields"])
    values = dict(row["values"])
    at, size = PREFIX, PREFIX
    runs: list[Run] = []
    constants: list[tuple[int, bytes]] = []
    for field in fields.split(";"):
        match = re.fullmatch(r"(\w+)(?:\[(\d+)\])? (\w+)", field)
        if match is None:
            raise AutopilotError(f"topics.yaml: '{field}' of {name} is not 'type[count] name'")
        kind, length, label = match.groups()
        count = int(length or 1)
        value = values.pop(label, 0)
        if isinstance(value, str):
            columns = _columns(value, count, f"{name}.{label}")
            _add_runs(runs, kind, columns, at)
        elif value != 0:
            constants.append((at, struct.pack(f"<{count}{_STRUCT[kind]}", *[value] * count)))
        at += count * _SIZE[kind]
        if not label.startswith("_padding"):
            size = at
    if values:
        raise AutopilotError(f"topics.yaml: {name} has no field '{next(iter(values))}'")
    periods = {profile: 1000 * row[profile] for profile in ("full", "fleet")}
    periods["identification"] = 1000 * row.get("identification", row["full"])
    where = _columns(row["where"], 1, f"{name}, where")[0] if "where" in row else -1
    return Topic(
        name,
        f"{name}:{fields};",
        size,
        tuple(runs),
        tuple(constants),
        periods,
        bool(row.get("changes", False)),
        where,
    )


def _columns(value: str, count: int, field: str) -> list[int]:
    """Returns the indices of the snapshot's numbers that fill a field of `count` numbers."""
    fields = SNAPSHOT.fields
    assert fields is not None
    if value not in fields:
        raise AutopilotError(f"topics.yaml, {field}: " + unknown_name("column", value, fields))
    dtype, offset = fields[value][:2]
    width = dtype.itemsize // 8
    if width not in (1, count):
        raise AutopilotError(
            f"topics.yaml: {field} holds {count} numbers, but column '{value}' has {width}"
        )
    return [offset // 8 + (k if width > 1 else 0) for k in range(count)]


def _add_runs(runs: list[Run], kind: str, columns: list[int], at: int) -> None:
    """Appends the copies of one field; merges a copy that continues the previous one."""
    source, width = {"float": (AS_SINGLE, 4), "double": (AS_DOUBLE, 8)}.get(kind, (AS_WHOLE, 8))
    size = _SIZE[kind]
    for column in columns:
        first = column * width
        last = runs[-1] if runs else (-1, 0, 0, 0)
        follows = (last[0], last[1] + last[3], last[2] + last[3]) == (source, first, at)
        if follows and size == width:
            runs[-1] = (source, last[1], last[2], last[3] + size)
        else:
            runs.append((source, first, at, size))
        at += size


def header(
    start_us: int,
    logged: Sequence[Topic | ExtraTopic],
    info: dict[str, str | int],
    parameters: bytes,
) -> bytes:
    """Returns the header and definitions of a log: all bytes before its first data message.

    Args:
        start_us: Time at which the log starts [us].
        logged: Topics of the log; their message ids are 0, 1, 2, ...
        info: Key and value of each information message.
        parameters: Messages of the parameters.
    """
    parts = [MAGIC, struct.pack("<Q", start_us), message(FLAGS, bytes(40))]
    parts += [message(FORMAT, topic.format.encode()) for topic in logged]
    parts += [information(key, value) for key, value in info.items()]
    parts.append(parameters)
    parts += [
        message(SUBSCRIBE, struct.pack("<BH", 0, number) + topic.name.encode())
        for number, topic in enumerate(logged)
    ]
    return b"".join(parts)


def message_layout(logged: Sequence[Topic]) -> MessageLayout:
    """Returns the layout of the data messages of topics."""
    sizes = np.array([topic.size for topic in logged])
    templates = np.zeros((len(logged), sizes.max()), dtype=np.uint8)
    for number, topic in enumerate(logged):
        for at, data in ((0, data_prefix(topic, number)), *topic.constants):
            data = data[: topic.size - at]
            templates[number, at : at + len(data)] = np.frombuffer(data, dtype=np.uint8)
    runs = np.array([run for topic in logged for run in topic.runs])
    whole_columns = np.unique(runs[runs[:, 0] == AS_WHOLE, 1]) // 8
    starts = np.cumsum([0] + [len(topic.runs) for topic in logged])
    return MessageLayout(sizes, templates, starts, runs, whole_columns)
