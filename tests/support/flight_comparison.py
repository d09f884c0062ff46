"""How far a flight is from a reference flight: path, times, yaw, and the sequence of events.

    python tests/support/flight_comparison.py tests/data/missions/px4/lanes/calm MY/lanes/calm
    python tests/support/flight_comparison.py tests/data/missions/px4 MY     every flight of both

A flight is a stem with STEM.npz and STEM.json, as px4_references.py and mission_records.py write
them. Columns: path, distance of each point to the reference's path whenever that was flown, RMS and
largest [m]; missed, the reverse, largest [m], so that a part left out shows; same time, distance at
equal times after arming, RMS and largest [m]; yaw, RMS at equal times [deg]; durations from arming
to disarming [s], and that of the reference. Sequences that differ follow, '-' for the reference's
entries.
"""

import argparse
import difflib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SEQUENCES = ("modes", "landed", "current", "reached", "texts")
_TOGETHER = {"Landing detected", "Mission finished, landed"}  # in any order, as in PX4
_NUMBER = r"\d+(?:\.\d+)?"
_CHUNK = 256  # points compared with a whole path at once


@dataclass(frozen=True)
class Track:
    """One flight from arming to disarming."""

    t_s: np.ndarray  # (T,) after arming [s]
    pos: np.ndarray  # (T, 3) ENU [m]
    yaw: np.ndarray  # (T,) ENU [rad]
    document: dict

    @classmethod
    def read(cls, stem: Path) -> "Track":
        """From STEM.npz and STEM.json."""
        document = json.loads(stem.with_suffix(".json").read_text())
        with np.load(stem.with_suffix(".npz")) as data:
            flown = (data["t_s"] >= 0.0) & (data["t_s"] <= document["duration_s"])
            return cls(
                *(data[name][flown].astype(float) for name in ("t_s", "pos", "yaw")), document
            )

    def events(self, key: str) -> list[str]:
        """The sequence of modes, texts and so on after arming, without repetitions."""
        found = []
        for t, *values in self.document[key]:
            word = " ".join(str(value).strip() for value in values)
            if t > -1.0 and found[-1:] != [word]:
                found.append(word)
        for k in range(1, len(found)):
            if {found[k - 1][2:], found[k][2:]} == _TOGETHER:
                found[k - 1 : k + 1] = sorted(found[k - 1 : k + 1])
        return found


@dataclass(frozen=True)
class Difference:
    """Figures of one flight against its reference."""

    reference_s: float  # duration
    duration_s: float
    path_rms: float  # [m]
    path_max: float
    missed_max: float
    same_time_rms: float
    same_time_max: float
    yaw_rms: float  # [deg]

    @classmethod
    def between(cls, reference: Track, flight: Track) -> "Difference":
        """All figures."""
        apart = to_path(flight.pos, reference.pos)
        same, turned = at_equal_times(reference, flight)
        return cls(
            reference.document["duration_s"],
            flight.document["duration_s"],
            _rms(apart),
            float(apart.max()),
            float(to_path(reference.pos, flight.pos).max()),
            _rms(same),
            float(same.max()),
            float(np.degrees(_rms(turned))),
        )

    @property
    def duration_error(self) -> float:
        """Of the duration, relative to the reference."""
        return abs(self.duration_s / self.reference_s - 1.0)


def to_path(points: np.ndarray, path: np.ndarray) -> np.ndarray:
    """Distance (N,) of points (N, 3) to a polyline (P, 3) [m]."""
    start, leg = path[:-1], np.diff(path, axis=0)
    length = np.maximum((leg * leg).sum(axis=1), 1e-12)
    distance = np.empty(len(points))
    for k in range(0, len(points), _CHUNK):
        to_start = points[k : k + _CHUNK, None] - start
        along = np.clip((to_start * leg).sum(axis=2) / length, 0.0, 1.0)
        square = ((to_start - along[..., None] * leg) ** 2).sum(axis=2)
        distance[k : k + _CHUNK] = np.sqrt(square.min(axis=1))
    return distance


def at_equal_times(reference: Track, flight: Track) -> tuple[np.ndarray, np.ndarray]:
    """Distance [m] and angle between the headings [rad] while both fly, each 0.1 s."""
    t_s = np.arange(0.0, min(reference.t_s[-1], flight.t_s[-1]), 0.1)
    rows = [
        np.stack([np.interp(t_s, track.t_s, axis) for axis in (*track.pos.T, np.unwrap(track.yaw))])
        for track in (reference, flight)
    ]
    apart = rows[1] - rows[0]
    return np.linalg.norm(apart[:3], axis=0), np.angle(np.exp(1j * apart[3]))


def sequence_differences(reference: Track, flight: Track, key: str) -> list[str]:
    """Lines '- entry' only in the reference, '+ entry' only in the flight; of SEQUENCES.

    Heights in texts may be rounded differently.
    """
    was, now = reference.events(key), flight.events(key)
    if len(was) == len(now) and all(map(_alike, was, now)):
        return []
    return [line for line in difflib.ndiff(was, now) if line[0] in "+-"]


def differences(reference: Track, flight: Track) -> list[str]:
    """Lines of all SEQUENCES that differ, each after its name."""
    return [
        line
        for key in SEQUENCES
        if (lines := sequence_differences(reference, flight, key))
        for line in (f"{key}:", *("  " + line for line in lines))
    ]


def _alike(was, now):
    if re.sub(_NUMBER, "", was) != re.sub(_NUMBER, "", now):
        return False
    by = 1.0 if "above" in was else 0.0
    return all(
        abs(float(a) - float(b)) <= by
        for a, b in zip(re.findall(_NUMBER, was), re.findall(_NUMBER, now))
    )


def _rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def main():
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", type=Path)
    parser.add_argument("flight", type=Path)
    args = parser.parse_args()
    if args.reference.is_dir():
        names = sorted(
            str(p.relative_to(args.reference).with_suffix(""))
            for p in args.reference.rglob("*.npz")
        )
        pairs = [
            (name, args.reference / name, args.flight / name)
            for name in names
            if (args.flight / name).with_suffix(".npz").is_file()
        ]
    else:
        pairs = [(args.flight.name, args.reference, args.flight)]
    print(
        "| flight | path | max | missed | same time | max | yaw | duration | reference |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    unlike = []
    for name, *stems in pairs:
        reference, flight = map(Track.read, stems)
        d = Difference.between(reference, flight)
        print(
            f"| {name} | {d.path_rms:.2f} | {d.path_max:.2f} | {d.missed_max:.2f} | "
            f"{d.same_time_rms:.1f} | {d.same_time_max:.1f} | {d.yaw_rms:.1f} | "
            f"{d.duration_s:.1f} | {d.reference_s:.1f} |"
        )
        unlike += [f"{name}, {line}" for line in differences(reference, flight)]
    print("\n".join(unlike))
    return 0


if __name__ == "__main__":
    sys.exit(main())
