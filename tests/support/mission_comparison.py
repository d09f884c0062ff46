"""Holds a flown mission against a reference: its path, its times and what it said.

A flight is a stem: STEM.npz (t_s, pos) and STEM.json, as mission_records.py writes them.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

EVENTS = ("modes", "landed", "current", "reached", "texts")
_TOGETHER = ("Landing detected", "Mission finished, landed")  # in any order, as in PX4
# Of PX4's simulated battery, in one recording (lanes/wind).
_BATTERY = ("2 Preflight Fail: Battery unhealthy", "2 Failsafe activated")


@dataclass
class Flight:
    """One flight, from arming to disarming.

    Attributes:
        t: (T,) [s], 0 = arming.
        pos: (T, 3) true position [m].
        duration: From arming to disarming [s].
        events: Kind of EVENTS -> [(t [s], what), ...] after arming, changes only.
    """

    t: np.ndarray
    pos: np.ndarray
    duration: float
    events: dict

    def sequence(self, kind):
        """What happened, in order."""
        return [what for _, what in self.events[kind]]


def load(stem):
    """Reads a flight."""
    document = json.loads(Path(f"{stem}.json").read_text())
    with np.load(f"{stem}.npz") as data:
        return Flight(data["t_s"], data["pos"].astype(float), document["duration_s"],
                      {k: _changes(document[k]) for k in EVENTS})


def _changes(entries):
    found = []
    for t, *what in entries:
        words = " ".join(str(one).strip() for one in what)
        if t > -1 and words not in _BATTERY and (not found or found[-1][1] != words):
            found.append((t, words))
    for k in range(1, len(found)):
        if sorted((found[k - 1][1][2:], found[k][1][2:])) == sorted(_TOGETHER):
            found[k - 1:k + 1] = sorted(found[k - 1:k + 1], key=lambda entry: entry[1])
    return found


def differences(reference, flown):
    """Kinds of events whose sequences differ; heights in texts may be rounded differently."""
    found = []
    for kind in EVENTS:
        was, now = reference.sequence(kind), flown.sequence(kind)
        if len(was) != len(now) or not all(map(_alike, was, now)):
            found.append(f"{kind}: {was} -> {now}")
    return found


def _alike(was, now):
    numbers = [np.array(re.findall(r"\d+(?:\.\d+)?", text), dtype=float) for text in (was, now)]
    same_words = re.sub(r"\d+(?:\.\d+)?", "", was) == re.sub(r"\d+(?:\.\d+)?", "", now)
    by = 1.0 if "above" in was else 0.0
    return same_words and numbers[0].shape == numbers[1].shape and bool(
        (np.abs(numbers[0] - numbers[1]) <= by).all())


def from_path(points, path):
    """(P,) distance of points (P, 3) to a polyline (T, 3) [m]."""
    start, leg = path[:-1], np.diff(path, axis=0)
    square = np.maximum((leg * leg).sum(axis=1), 1e-12)
    out = np.empty(len(points))
    for k, point in enumerate(points):
        rel = point - start
        along = np.clip((rel * leg).sum(axis=1) / square, 0.0, 1.0)
        out[k] = np.sqrt(((rel - along[:, None] * leg) ** 2).sum(axis=1).min())
    return out


def figures(reference, flown):
    """How far a flight is from its reference.

    Returns:
        path, path_max: Distance of each to the other's path, RMS and largest [m].
        same_time, same_time_max: Distance at equal times after arming, RMS and largest [m].
        duration: Relative difference.
    """
    inside = (flown.t >= 0) & (flown.t <= flown.duration)
    apart = np.concatenate([from_path(flown.pos[inside], reference.pos),
                            from_path(reference.pos[reference.t >= 0], flown.pos)])
    t = np.arange(0.0, min(reference.duration, flown.duration), 0.2)
    same = np.linalg.norm([np.interp(t, reference.t, a) - np.interp(t, flown.t, b)
                           for a, b in zip(reference.pos.T, flown.pos.T)], axis=0)
    return {"path": _rms(apart), "path_max": float(apart.max()), "same_time": _rms(same),
            "same_time_max": float(same.max()),
            "duration": flown.duration / reference.duration - 1.0}


def _rms(x):
    return float(np.sqrt(np.mean(np.square(x))))
