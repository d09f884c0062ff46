"""What a formation flight was worth: figures and plots of a run folder.

A follower's slot error is the distance of its true position from the leader's
true position plus its slot. A formation counts from its command to the next;
it is settled from the first moment on at which every follower's error stays
within 0.35 m for 3 s. Velocity tracking is the follower's velocity relative to the
leader's, from then on.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from xtdrone_core import Scenario
from xtdrone_core.run_folder import update_summary
from xtdrone_core.truth_log import read_truth

from .agents import SETTLED_S, TOLERANCE
from .errors import FormationError

_NEXT = ("return", "land", "landed")  # events that end a formation, beside another formation
_ON_GROUND = 0.3  # height over the start and speed below which a vehicle has landed [m, m/s]


@dataclass(frozen=True)
class Window:
    """One formation of a flight, from its command to the next."""

    name: str
    t_s: np.ndarray  # (K,) time since the start of the run [s]
    error: np.ndarray  # (K, N - 1) slot error of each follower [m]
    vel_error: np.ndarray  # (K, N - 1) speed of each follower relative to the leader [m/s]
    slots: np.ndarray  # (N - 1, 3) in the followers' order [m]
    settled: int  # index into t_s from which on it is settled, or -1

    @property
    def settle_time(self):
        """Seconds from the command until settled, or None."""
        return None if self.settled < 0 else float(self.t_s[self.settled] - self.t_s[0])

    def summary(self) -> dict:
        """The fields of summary.json; None where the formation never settled."""
        if self.settled < 0:
            rms = largest = rms_vel = None
        else:
            error = self.error[self.settled:]
            rms = round(float(np.sqrt(np.mean(error ** 2))), 4)
            largest = round(float(error.max()), 4)
            rms_vel = round(float(np.sqrt(np.mean(self.vel_error[self.settled:] ** 2))), 4)
        time = self.settle_time
        return {"name": self.name, "settle_time_s": None if time is None else round(time, 3),
                "rms_slot_error_m": rms, "max_slot_error_m": largest,
                "rms_velocity_error_m_s": rms_vel}


@dataclass(frozen=True)
class Flight:
    """A run's truth, and the formations in it."""

    folder: Path
    t_s: np.ndarray  # (T,) [s]
    pos: np.ndarray  # (T, N, 3) true, world [m]
    vel: np.ndarray  # (T, N, 3) true, world [m/s]
    windows: tuple[Window, ...]

    def summary(self) -> dict:
        """formations, min_separation_m (None for one vehicle) and landed, for summary.json."""
        return {"formations": [window.summary() for window in self.windows],
                "min_separation_m": least_separation(self.pos),
                "landed": has_landed(self.pos, self.vel)}


def load(folder) -> Flight:
    """Reads truth.bin and events.jsonl of a run folder.

    Raises:
        FormationError: No formation flight in it.
        XtdroneError: No truth log in it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FormationError(f"no run folder '{folder}': give a folder below runs/, for example "
                             "runs/latest")
    t_us, table = read_truth(folder / "truth.bin", _vehicles(folder))
    pos, vel = table[:, :, 0:3], table[:, :, 7:10]
    return Flight(folder, t_us * 1e-6, pos, vel, tuple(_windows(t_us, pos, vel, events(folder))))


def _vehicles(folder):
    """Number of vehicles: of the summary (the simple simulator flies thousands), or scenario."""
    path = folder / "summary.json"
    summary = json.loads(path.read_text()) if path.exists() else {}
    return summary["n"] if "n" in summary else Scenario.load(folder / "scenario.yaml").n


def events(folder) -> list[dict]:
    """The lines of events.jsonl in order of time; an incomplete last line is left out."""
    path = Path(folder) / "events.jsonl"
    found = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return sorted(found, key=lambda event: event["t_us"])


def _windows(t_us, pos, vel, found):
    marks = [event for event in found if event["event"] in ("formation", *_NEXT)]
    for k, event in enumerate(marks):
        if event["event"] != "formation" or event["formation"] in ("origin", "waiting"):
            continue
        end = marks[k + 1]["t_us"] if k + 1 < len(marks) else t_us[-1] + 1
        inside = (t_us >= event["t_us"]) & (t_us < end)
        slots = np.array(event["slots"], dtype=float).reshape(-1, 3)
        if not inside.any():
            continue
        if len(slots) != pos.shape[1] - 1:
            raise FormationError(f"formation '{event['formation']}' of the event log has "
                                 f"{len(slots)} slots, the truth log {pos.shape[1] - 1} followers: "
                                 "the two are not of one run")
        place = pos[inside]
        error = np.linalg.norm(place[:, 1:] - place[:, :1] - slots, axis=2)
        relative = np.linalg.norm(vel[inside, 1:] - vel[inside, :1], axis=2)
        t_s = t_us[inside] * 1e-6
        yield Window(event["formation"], t_s, error, relative, slots,
                     _settled(t_s, error.max(axis=1)))


def _settled(t_s, largest):
    """First index from which on the error stays in tolerance for the whole time, or -1."""
    outside = np.flatnonzero(largest > TOLERANCE)
    # Quiet stretches lie between moments outside the tolerance.
    starts = np.concatenate([[0], outside + 1])
    ends = np.concatenate([outside, [len(t_s)]])
    for start, end in zip(starts, ends):
        if end > start and t_s[end - 1] - t_s[start] >= SETTLED_S - 1e-9:
            return int(start)
    return -1


def least_separation(pos):
    """Least distance between any two vehicles in a log (T, N, 3) [m], or None for one vehicle."""
    if pos.shape[1] < 2:
        return None
    least = min(cKDTree(places).query(places, k=2)[0][:, 1].min() for places in pos)
    return round(float(least), 4)


def has_landed(pos, vel) -> bool:
    """Whether every vehicle is, at the end of the log, at rest at the height of its start."""
    low = pos[-1, :, 2] - pos[0, :, 2] < _ON_GROUND
    still = np.linalg.norm(vel[-1], axis=1) < _ON_GROUND
    return bool((low & still).all())


def report(folder) -> dict:
    """Computes the fields of a run, writes them to summary.json, and draws its plots.

    Returns:
        The fields.
    """
    from . import plots  # here, since matplotlib takes half a second

    flight = load(folder)
    fields = flight.summary()
    update_summary(flight.folder, **fields)
    plots.trajectories(flight, flight.folder / "trajectories.png")
    if flight.windows:
        plots.formation_error(flight, flight.folder / "formation_error.png")
    return fields
