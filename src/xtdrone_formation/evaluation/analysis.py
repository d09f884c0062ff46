"""Evaluation of a formation flight: metrics of a run folder.

The slot error of a follower is the distance from its position to the leader's position plus its
slot. A formation is evaluated from its command to the next. It is settled from the first time at
which it stays in place for 3 s: RMS over the followers at most 0.35 m, no follower beyond 0.7 m.
Errors after settling are taken from the end of these 3 s to the next command, so that they are not
limited by the settling criterion. The velocity error is that of the followers relative to the
leader, over the same time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.vehicles import FARTHEST

from ..errors import FormationError
from ..settling import SETTLED_S, in_place
from . import recordings

_NEXT = ("mission", "return", "land", "landed")  # events that end a formation, as the next one does
_LATE_S = 0.1  # delay after a command with which a recording may begin [s]
_ON_GROUND = 0.3  # height above the start and speed below which a vehicle has landed [m, m/s]


@dataclass(frozen=True)
class Window:
    """One formation of a flight, from its command to the next."""

    name: str
    command_s: float  # time of the command since the start of the run [s]
    t_s: np.ndarray  # (K,) time since the start of the run [s]
    error: np.ndarray  # (K, N - 1) slot error of each follower [m]
    vel_error: np.ndarray  # (K, N - 1) speed of each follower relative to the leader [m/s]
    slots: np.ndarray  # (N - 1, 3) in the followers' order [m]
    settled: int  # index into t_s from which it is settled, or -1

    @property
    def settle_time(self) -> float | None:
        """Time from the command until settled [s], or None."""
        return None if self.settled < 0 else float(self.t_s[self.settled] - self.command_s)

    def summary(self) -> dict[str, Any]:
        """Returns the fields of summary.json; None if the formation never settled."""
        if self.settled < 0:
            return {
                "name": self.name,
                "settle_time_s": None,
                "rms_slot_error_m": None,
                "max_slot_error_m": None,
                "rms_velocity_error_m_s": None,
            }
        steady = self.t_s >= min(self.t_s[self.settled] + SETTLED_S, self.t_s[-1]) - 1e-9
        error = self.error[steady]
        return {
            "name": self.name,
            "settle_time_s": round(float(self.t_s[self.settled] - self.command_s), 3),
            "rms_slot_error_m": _rms(error),
            "max_slot_error_m": round(float(error.max()), 4),
            "rms_velocity_error_m_s": _rms(self.vel_error[steady]),
        }


def _rms(values: np.ndarray) -> float:
    return round(float(np.sqrt(np.mean(values**2))), 4)


@dataclass(frozen=True)
class Flight:
    """Motion of a fleet in a run, and its formations."""

    folder: Path
    source: str  # source of the motion: a key of recordings.SOURCES
    names: list[str]  # vehicles, the leader first
    t_s: np.ndarray  # (T,) [s]
    pos: np.ndarray  # (T, N, 3) world [m]
    vel: np.ndarray  # (T, N, 3) world [m/s]
    yaw: np.ndarray  # (T, N) heading, see recordings.Motion
    windows: tuple[Window, ...]
    late: tuple[str, ...]  # formations excluded: already in place when the recording begins
    mission: dict[str, Any]  # the leader's path_m, rms_slot_error_m, max_slot_error_m; or empty
    messages: dict[str, Any]  # messages_sent and messages_lost between the vehicles, if known

    @property
    def title(self) -> str:
        """The name of the run, and the source of its motion unless that is the truth."""
        name = self.folder.resolve().name
        return name if self.source == "truth" else f"{name} ({self.source})"

    def summary(self) -> dict[str, Any]:
        """Returns formations, min_separation_m (None for one vehicle), landed, and more."""
        late = {"recorded_late": list(self.late)} if self.late else {}
        mission = {"mission": self.mission} if self.mission else {}
        return {
            "formations": [window.summary() for window in self.windows],
            **late,
            **mission,
            "min_separation_m": min_separation(self.pos),
            "landed": has_landed(self.pos, self.vel),
            **self.messages,
        }


def load(folder: Path | str, source: str | None = None) -> Flight:
    """Reads the motion and events.jsonl of a run folder.

    Args:
        folder: The run folder.
        source: Source of the motion, see recordings.read().

    Raises:
        FormationError: It contains no formation flight.
        XtdroneError: The recording cannot be read.
    """
    folder = Path(folder)
    motion = recordings.read(folder, source)
    flown = events(folder)
    marks = [event for event in flown if event["event"] in ("formation", *_NEXT)]
    windows = tuple(_windows(motion, marks))
    # If a recording begins after the command, the settling time is still known.
    late = [w.settled == 0 and w.t_s[0] > w.command_s + _LATE_S for w in windows]
    return Flight(
        folder,
        motion.source,
        recordings.vehicle_names(folder, motion.pos.shape[1]),
        motion.t_us * 1e-6,
        motion.pos,
        motion.vel,
        motion.yaw,
        tuple(w for w, is_late in zip(windows, late) if not is_late),
        tuple(w.name for w, is_late in zip(windows, late) if is_late),
        _mission(motion, flown),
        _messages(folder, flown),
    )


def _messages(folder: Path, flown: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns message counts of the summary, or of the formation node's last event."""
    summary = run_folder.read_summary(folder)
    for values in (summary, *(event for event in reversed(flown) if event["event"] == "released")):
        counts = {key: values.get(key) for key in ("messages_sent", "messages_lost")}
        if all(isinstance(count, int) for count in counts.values()):
            return counts
    return {}


def events(folder: Path | str) -> list[dict[str, Any]]:
    """Returns the events of a run in the order of time; slots of formations are arrays.

    Raises:
        FormationError: A formation has no name, or no slots.
        XtdroneError: The file cannot be read.
    """
    flown = run_folder.read_events(Path(folder))
    for event in flown:
        if event["event"] == "formation":
            event["slots"] = _slots(event, folder)
    return flown


def _slots(event: dict[str, Any], folder: Path | str) -> np.ndarray:
    """Returns the slots (N - 1, 3) of a formation's event [m]."""
    try:
        slots = np.array(event["slots"], dtype=float).reshape(-1, 3)
    except (KeyError, TypeError, ValueError, OverflowError):
        slots = np.full((1, 3), np.nan)
    if not (np.abs(slots) <= FARTHEST).all() or not isinstance(event.get("formation"), str):
        raise FormationError(
            f"the event log of '{folder}' is damaged: the formation at "
            f"{event['t_us'] * 1e-6:.2f} s has no name, or no slots within "
            f"{FARTHEST:g} m"
        )
    return slots


def _windows(motion: recordings.Motion, marks: list[dict[str, Any]]) -> Iterator[Window]:
    t_us, pos, vel = motion.t_us, motion.pos, motion.vel
    for k, event in enumerate(marks):
        if event["event"] != "formation" or event["formation"] in ("origin", "waiting"):
            continue
        end = marks[k + 1]["t_us"] if k + 1 < len(marks) else t_us[-1] + 1
        inside = (t_us >= event["t_us"]) & (t_us < end)
        slots = event["slots"]
        if not inside.any():
            continue
        _check_fits(slots, pos, f"formation '{event['formation']}'")
        error = _slot_errors(pos[inside], slots)
        relative = np.linalg.norm(vel[inside, 1:] - vel[inside, :1], axis=2)
        t_s = t_us[inside] * 1e-6
        yield Window(
            event["formation"],
            event["t_us"] * 1e-6,
            t_s,
            error,
            relative,
            slots,
            _settled(t_s, in_place(error)),
        )


def _check_fits(slots: np.ndarray, pos: np.ndarray, what: str) -> None:
    if len(slots) != pos.shape[1] - 1:
        raise FormationError(
            f"{what} of the event log has {len(slots)} slots, the recording "
            f"{pos.shape[1] - 1} followers: they are not of the same run"
        )


def _slot_errors(pos: np.ndarray, slots: np.ndarray) -> np.ndarray:
    return np.linalg.norm(pos[:, 1:] - pos[:, :1] - slots, axis=2)


def _mission(motion: recordings.Motion, flown: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the length of the leader's mission, and the slot errors from its start to its end."""
    times = {event["event"]: event["t_us"] for event in flown}
    if not {"formation", "mission", "mission_end"} <= times.keys():
        return {}
    slots = next(event["slots"] for event in reversed(flown) if event["event"] == "formation")
    pos = motion.pos[(motion.t_us >= times["mission"]) & (motion.t_us < times["mission_end"])]
    if not len(pos):
        return {}
    _check_fits(slots, pos, "the mission")
    error = _slot_errors(pos, slots)
    path = np.linalg.norm(np.diff(pos[:, 0], axis=0), axis=1).sum()
    return {
        "path_m": round(float(path), 1),
        "rms_slot_error_m": _rms(error),
        "max_slot_error_m": round(float(error.max()), 4),
    }


def _settled(t_s: np.ndarray, inside: np.ndarray) -> int:
    """Returns the first index from which the formation stays in place for SETTLED_S, or -1."""
    outside = np.flatnonzero(~inside)
    starts = np.concatenate([[0], outside + 1])
    ends = np.concatenate([outside, [len(t_s)]])
    for start, end in zip(starts, ends):
        if end > start and t_s[end - 1] - t_s[start] >= SETTLED_S - 1e-9:
            return int(start)
    return -1


def min_separation(pos: np.ndarray) -> float | None:
    """Returns the smallest distance of vehicles in a log (T, N, 3) [m]; None for one vehicle."""
    if pos.shape[1] < 2:
        return None
    from scipy.spatial import cKDTree

    smallest = min(cKDTree(points).query(points, k=2)[0][:, 1].min() for points in pos)
    return round(float(smallest), 4)


def has_landed(pos: np.ndarray, vel: np.ndarray) -> bool:
    """Returns whether every vehicle is at rest at its start height at the end of the log."""
    low = pos[-1, :, 2] - pos[0, :, 2] < _ON_GROUND
    still = np.linalg.norm(vel[-1], axis=1) < _ON_GROUND
    return bool((low & still).all())
