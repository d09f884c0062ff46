"""Reads ULog files of this simulation and of PX4, complete or truncated."""

import contextlib
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core import files
from xtdrone_core.errors import shown, unknown_name

from ..errors import AutopilotError

# Names of vehicle_status.nav_state, as in PX4.
NAV_STATES = {
    0: "MANUAL",
    1: "ALTCTL",
    2: "POSCTL",
    3: "AUTO.MISSION",
    4: "AUTO.LOITER",
    5: "AUTO.RTL",
    6: "POSCTL.SLOW",
    10: "ACRO",
    12: "DESCEND",
    13: "TERMINATION",
    14: "OFFBOARD",
    15: "STABILIZED",
    17: "AUTO.TAKEOFF",
    18: "AUTO.LAND",
    19: "AUTO.FOLLOW_TARGET",
    20: "AUTO.PRECLAND",
    21: "ORBIT",
}
ARMED = 2  # vehicle_status.arming_state
_SEVERITIES = ("EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG")


_DATAFLASH = b"\xa3\x95"  # how a message of ArduPilot's logs begins


class _LogFile(io.BufferedReader):
    """File object for pyulog, which seeks back by what it wanted to read, not by what it got.

    Without this class, pyulog reads the end of a damaged file again and again.
    """

    _missing = 0  # bytes that the last read() did not get

    def read(self, size: int | None = -1) -> bytes:
        """Reads, and notes how many bytes were missing."""
        data = super().read(size)
        self._missing = max(0, (size or 0) - len(data))
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Seeks; backwards only by bytes that were read."""
        if whence == io.SEEK_CUR and offset + self._missing <= 0:
            offset += self._missing
        return super().seek(offset, whence)


@dataclass(frozen=True)
class LogMessage:
    """A text that the flight stack logged, with a tag (of a camera, for example) or without."""

    t_us: int  # time stamp of the log
    severity: int  # as in syslog: 0 emergency to 7 debug
    text: str  # without colour codes and control characters


def _kind_of(path: Path) -> str:
    """Names the log of another kind that a file is; "" if it is none that is known."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        begin = file.read(9)
        if begin.startswith(_DATAFLASH):
            return "a DataFlash log of ArduPilot"
        if begin[8:] in (b"\xfe", b"\xfd"):  # behind a time of 8 bytes
            return "a telemetry log of MAVLink"
    return ""


class FlightLog:
    """One ULog file. Times are seconds since its start, the time stamp of its header.

    PX4 also logs the last sample of each topic from before the start, at times even with a time
    stamp of 0: such samples count as of the start.
    """

    def __init__(self, path: Path | str):
        """Reads a file.

        Raises:
            AutopilotError: The file does not exist, or is not a ULog.
        """
        from pyulog import ULog

        self.path = Path(path)
        try:
            files.check(path, "flight log", AutopilotError)
        except AutopilotError as error:
            raise AutopilotError(
                f"{error}; give a .ulg file, for example runs/latest/ulog/iris_0/log001.ulg"
            ) from error
        try:
            # pyulog prints what it skips.
            with contextlib.redirect_stdout(io.StringIO()), _LogFile(io.FileIO(path)) as file:
                self.ulog = ULog(file)
        except Exception as error:  # in pyulog, damaged bytes can raise any exception
            kind = _kind_of(self.path)
            why = f"it is {kind}, and PX4's ULog is read" if kind else shown(error)
            raise AutopilotError(f"'{path}' is not a ULog: {why}") from error
        self._begin = int(self.ulog.start_timestamp)
        self._topics: dict[str, dict[str, np.ndarray]] = {}
        for data in self.ulog.data_list:
            if data.timestamp_idx >= 0 and data.name not in self._topics:  # the first instance only
                stamps = np.maximum(data.data["timestamp"], np.uint64(self._begin))
                self._topics[data.name] = {**data.data, "timestamp": stamps}

    @property
    def seconds(self) -> float:
        """Duration of the log [s]."""
        return max(0, self.ulog.last_timestamp - self._begin) * 1e-6

    def topics(self) -> list[str]:
        """Returns the names of the logged topics."""
        return list(self._topics)

    def topic(self, name: str) -> dict[str, np.ndarray] | None:
        """Returns the fields of a topic by name, and its time 't' [s]; None if it is not logged."""
        data = self._topics.get(name)
        if data is None:
            return None
        return {**data, "t": (data["timestamp"].astype(np.int64) - self._begin) * 1e-6}

    def seconds_of(self, t_us: int) -> float:
        """Converts a time stamp of the log [us] to time since its start [s]."""
        return (t_us - self._begin) * 1e-6

    def messages(self) -> list[LogMessage]:
        """Returns the logged texts, those with a tag, too, in the order of time."""
        tagged = (each for some in self.ulog.logged_messages_tagged.values() for each in some)
        return sorted(
            (
                LogMessage(int(each.timestamp), _severity(each.log_level), _plain(each.message))
                for each in (*self.ulog.logged_messages, *tagged)
            ),
            key=lambda message: message.t_us,
        )

    def modes(self) -> list[tuple[float, float, str]]:
        """Returns (begin [s], end [s], name) of each period in one flight mode."""
        return [
            (begin, end, NAV_STATES.get(int(state), f"mode {int(state)}"))
            for begin, end, state in self._periods("vehicle_status", "nav_state")
        ]

    def armed(self) -> list[tuple[float, float]]:
        """Returns (begin, end) of each period in which the vehicle was armed [s]."""
        return [
            (begin, end)
            for begin, end, state in self._periods("vehicle_status", "arming_state")
            if state == ARMED
        ]

    def flying(self) -> list[tuple[float, float]]:
        """Returns (begin, end) of each flight [s]; armed() without vehicle_land_detected."""
        if self.topic("vehicle_land_detected") is None:
            return self.armed()
        return [
            (begin, end)
            for begin, end, landed in self._periods("vehicle_land_detected", "landed")
            if not landed
        ]

    def _periods(self, topic: str, field: str) -> list[tuple[float, float, float]]:
        """Returns (begin [s], end [s], value) of each period in which a field is constant."""
        data = self.topic(topic)
        if data is None or field not in data:
            return []
        values, t = data[field], data["t"]
        starts = np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1)
        ends = [*t[starts[1:]], self.seconds]
        return [(t[k], end, values[k]) for k, end in zip(starts, ends)]


def summary(log: FlightLog) -> list[str]:
    """Returns a summary of a log, as lines of text."""
    ulog = log.ulog
    lines = [
        f"file: {log.path} ({log.path.stat().st_size / 1e3:.0f} kB)",
        f"length: {log.seconds:.1f} s"
        + ("; some bytes of it are damaged" if ulog.file_corruption else ""),
    ]
    system = [
        str(ulog.msg_info_dict[key]) for key in ("sys_name", "ver_hw") if key in ulog.msg_info_dict
    ]
    version = ulog.get_version_info()
    lines.append(
        f"system: {' '.join(system) or 'unknown'}"
        + (", PX4 version {}.{}.{}".format(*version) if version else "")
    )
    lines += [f"armed: {begin:.1f} to {end:.1f} s" for begin, end in log.armed()]
    lines += [f"mode: {name}, {begin:.1f} to {end:.1f} s" for begin, end, name in log.modes()]
    lines += _flight(log)
    lines.append(
        f"parameters: {len(ulog.initial_parameters)}, changed {len(ulog.changed_parameters)} times"
    )
    lines += [
        f"  {log.seconds_of(t):9.3f} s  {_plain(name)} = {_value(value)}"
        for t, name, value in ulog.changed_parameters
    ]
    lines.append("messages:")
    lines += [
        f"  {log.seconds_of(m.t_us):9.3f} s  {_SEVERITIES[m.severity]}: {m.text}"
        for m in log.messages()
    ]
    lines.append(f"{'topic':38} {'samples':>8} {'rate [Hz]':>9}")
    for data in sorted(ulog.data_list, key=lambda d: (d.name, d.multi_id)):
        count = len(next(iter(data.data.values()), ()))  # a damaged log may lack any field
        label = data.name + (f" [{data.multi_id}]" if data.multi_id else "")
        rate = f"{count / log.seconds:.1f}" if log.seconds else "-"
        lines.append(f"{label:38} {count:8d} {rate:>9}")
    return lines


def _severity(level: int) -> int:
    """Returns the severity of syslog, which ULog writes as a digit."""
    return min(max(level - ord("0") if level >= ord("0") else level, 0), len(_SEVERITIES) - 1)


def _value(value: object) -> str:
    """Formats a parameter's value; in a damaged log it may be of any type."""
    return f"{value:.9g}" if isinstance(value, (int, float)) else _plain(str(value))


def _plain(text: str) -> str:
    """Removes colour codes and control characters."""
    return "".join(c for c in re.sub(r"\x1b\[[\d;]*m", "", text) if c.isprintable())


def _flight(log: FlightLog) -> list[str]:
    """Returns a line on distance, speed and height of the flight; empty without a position."""
    position = log.topic("vehicle_local_position")
    if position is None:
        return []
    if any(name not in position for name in ("x", "y", "z", "vx", "vy")):
        return []
    path = np.stack([position[axis] for axis in "xyz"], axis=1).astype(float)
    path = path[np.isfinite(path).all(axis=1)]
    # As doubles, because damaged numbers may be as large as a float allows.
    speed = np.hypot(position["vx"].astype(float), position["vy"].astype(float))
    if not len(path):
        return []
    steps = np.linalg.norm(np.diff(path[::5], axis=0), axis=1)
    return [
        f"flown: {steps.sum():.1f} m; at most {np.nanmax(speed):.2f} m/s over ground, "
        f"{-path[:, 2].min():.1f} m above the origin"
    ]


def write_csv(log: FlightLog, folder: Path, topics: Sequence[str] = ()) -> list[Path]:
    """Writes a CSV file for each topic and instance, named as by pyulog's ulog2csv.

    Args:
        log: The log.
        folder: Output folder.
        topics: Names of topics; empty = all.

    Returns:
        Paths of the files.

    Raises:
        AutopilotError: The log lacks a topic, or the folder cannot be written.
    """
    names = {data.name for data in log.ulog.data_list}
    for name in topics:
        if name not in names:
            raise AutopilotError(unknown_name("topic", name, names))
    paths = []
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for data in log.ulog.data_list:
            if topics and data.name not in topics:
                continue
            paths.append(Path(folder) / f"{log.path.stem}_{data.name}_{data.multi_id}.csv")
            with open(paths[-1], "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(data.data)
                writer.writerows(zip(*(column.tolist() for column in data.data.values())))
    except OSError as error:
        raise AutopilotError(
            f"cannot write to '{folder}': {error.strerror}; give another folder with --out"
        ) from error
    return paths
