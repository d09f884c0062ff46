"""Finds which gates vehicles pass, and when.

A gate is passed where the segment from one position to the next goes through its opening in its
direction; the time is interpolated between the two. A way-point is passed where that segment
enters its ball. The clock of a lap starts and stops at the first gate. Gates count in their order:
who flies past the next one beside its opening has missed it, and has to come back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..runs.snapshot import Memory
from .track import Track

BESIDE = 5.0  # who crosses a gate's plane so near its centre has missed it [m]


@dataclass(frozen=True)
class Passage:
    """A gate that a vehicle has passed, or missed."""

    vehicle: int
    gate: int  # from 0
    lap: int  # lap of the passage, from 1; the first gate's is that which it begins
    t_s: float  # simulated time [s]
    missed: bool = False
    split_s: float | None = None  # since the lap began; None at the start of the first [s]
    lap_s: float | None = None  # time of the lap that ends here [s]
    best: bool = False  # whether that lap is the vehicle's best


class Laps(Memory):
    """The race of some vehicles.

    Splits are times since a lap began, at the second gate first and at the first gate, the finish,
    last.

    Attributes:
        track: The Track.
        next: (N,) gate that is next, from 0.
        lap: (N,) lap that is flown, from 1; 0 before the start, laps + 1 after the finish.
        began_s: (N,) when it began, simulated time [s].
        splits: (N, G) of this lap; NaN ahead [s].
        best: (N, G) of the best lap; NaN without one [s].
        missed: (N,) how often a gate was missed.
        flown: For each vehicle its laps: began_s and splits.
        count: (N,) passages and misses so far.
    """

    MEMORY: ClassVar[tuple[str, ...]] = (
        "next",
        "lap",
        "began_s",
        "splits",
        "best",
        "missed",
        "flown",
        "count",
        "_before",
        "_t_us",
    )

    def __init__(self, track: Track, n: int):
        """n vehicles before the start."""
        self.track = track
        count = len(track.gates)
        self._centres = np.array([gate.pos for gate in track.gates])  # those that move: now
        self._moving = track.moving
        self._axes = np.array([gate.axes() for gate in track.gates])
        self._half = 0.5 * np.array([[gate.width, gate.height] for gate in track.gates])
        self._radii = np.array([gate.radius or np.nan for gate in track.gates])
        self.next = np.zeros(n, dtype=np.int64)
        self.lap = np.zeros(n, dtype=np.int64)
        self.began_s = np.full(n, np.nan)
        self.splits, self.best = np.full((n, count), np.nan), np.full((n, count), np.nan)
        self.missed, self.count = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.flown: list[list[dict[str, Any]]] = [[] for _ in range(n)]
        self._before = np.full((n, 3), np.nan)  # last place as its next gate sees it [m]
        self._t_us = 0
        self.remember_start()

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Puts vehicles before the start; their laps so far are forgotten."""
        super().reset(mask)
        for i, laps in enumerate(self.flown):
            if mask is None or mask[i]:
                laps.clear()

    def step(self, t_us: int, pos: np.ndarray) -> Sequence[Passage]:
        """Takes positions (N, 3) [m]; returns the passages since the last call."""
        for k in self._moving:
            gate = self.track.gates[k]
            self._centres[k] = gate.pos + gate.displacement(t_us * 1e-6)
        now = np.einsum("nij,nj->ni", self._axes[self.next], pos - self._centres[self.next])
        balls = np.isfinite(self._radii[self.next])
        crossed = ~balls & (self._before[:, 0] < 0.0) & (now[:, 0] >= 0.0)
        crossed[balls] = np.isfinite(
            _entered(self._before[balls], now[balls], self._radii[self.next[balls]])
        )
        passages = [
            passage
            for i in np.flatnonzero(crossed)
            if (passage := self._cross(int(i), t_us, now[i])) is not None
        ]
        self._before, self._t_us = now, t_us
        for passage in passages:  # its place as the gate after that sees it
            i, k = passage.vehicle, self.next[passage.vehicle]
            self._before[i] = self._axes[k] @ (pos[i] - self._centres[k])
        return passages

    def _cross(self, i: int, t_us: int, now: np.ndarray) -> Passage | None:
        """Returns the event that vehicle i has passed or missed its next gate."""
        before, gate = self._before[i], int(self.next[i])
        if np.isfinite(self._radii[gate]):
            entered = float(_entered(before[None], now[None], self._radii[gate])[0])
            self.count[i] += 1
            return self._pass(i, gate, (self._t_us + entered * (t_us - self._t_us)) * 1e-6)
        fraction = before[0] / (before[0] - now[0])
        aside = np.abs(before[1:] + fraction * (now[1:] - before[1:]))
        t_s = (self._t_us + fraction * (t_us - self._t_us)) * 1e-6
        if (aside < self._half[gate]).all():
            self.count[i] += 1
            return self._pass(i, gate, t_s)
        if np.hypot(*aside) > BESIDE or self.lap[i] == 0 or self.lap[i] > self.track.laps:
            return None
        self.missed[i] += 1
        self.count[i] += 1
        return Passage(
            i, gate, int(self.lap[i]), t_s, missed=True, split_s=t_s - float(self.began_s[i])
        )

    def _pass(self, i: int, gate: int, t_s: float) -> Passage | None:
        count = len(self.track.gates)
        self.next[i] = (gate + 1) % count
        if self.lap[i] > self.track.laps:  # it flies on after the finish
            return None
        split = None
        if self.lap[i] > 0:
            split = t_s - float(self.began_s[i])
            self.splits[i, gate - 1] = split
        if gate > 0:
            return Passage(i, gate, int(self.lap[i]), t_s, split_s=split)
        best = False
        if split is not None:
            self.flown[i].append(
                {"began_s": float(self.began_s[i]), "splits": self.splits[i].tolist()}
            )
            best = not self.best[i, -1] <= split
            if best:
                self.best[i] = self.splits[i]
        self.lap[i] += 1
        self.began_s[i], self.splits[i] = t_s, np.nan
        return Passage(i, 0, int(self.lap[i]), t_s, split_s=split, lap_s=split, best=best)


def _entered(before: np.ndarray, now: np.ndarray, radius: np.ndarray | float) -> np.ndarray:
    """Returns where segments (K, 3) to (K, 3) enter balls about the origin, 0..1, or NaN."""
    way = now - before
    square = np.maximum((way * way).sum(axis=1), 1e-18)
    along = -(before * way).sum(axis=1) / square
    apart = (before * before).sum(axis=1) - along * along * square
    depth = np.maximum(radius * radius - apart, 0.0)
    first = np.maximum(along - np.sqrt(depth / square), 0.0)
    last = along + np.sqrt(depth / square)
    with np.errstate(invalid="ignore"):
        inside = (apart <= radius * radius) & (first <= 1.0) & (last >= 0.0)
    return np.where(inside, first, np.nan)
