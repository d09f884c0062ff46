"""Several targets on the ground at once: each place that an image shows belongs to one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from .ground_filter import GroundFilter

_UNSEEN_US = 1_000_000  # a target that was seen since is not lost [us]
_REACH = 3.0  # deviations within which a track goes on where another ended
_SAME = 4.0  # what a tracker's identity takes off the cost of a target that had it before
_NEVER = 1e6  # cost of a place that a target cannot be at


class Kind(NamedTuple):
    """How the targets of a class move, and how much ground they take."""

    agility: float  # density of their accelerations [m/s^2/sqrt(Hz)]
    vague: float  # deviation of the place from which one is lost [m]
    radius: float  # of the middle from the nearest point, in the mean over all headings [m]
    uneven: float  # standard deviation of that [m]


PERSON = Kind(agility=0.5, vague=4.0, radius=0.2, uneven=0.0)
KINDS = {  # others are as people
    "person": PERSON,
    "car": Kind(agility=1.5, vague=8.0, radius=1.6, uneven=0.5),
}


class Sight(NamedTuple):
    """Where an image shows something."""

    place: np.ndarray  # (2,) east and north [m]
    spread: np.ndarray  # (2, 2) covariance [m^2]
    identity: int = -1  # that of a tracker of boxes; -1: none


@dataclass
class Track:
    """A target."""

    number: int  # from 1 on, in the order in which targets appeared
    motion: GroundFilter
    vague: float  # deviation of the place from which it is lost [m]
    begun_us: int
    seen_us: int
    sightings: int = 1
    hidden_us: int = 0  # longest time between two sightings
    identity: int = -1  # of the last sighting

    def is_lost(self, t_us: int) -> bool:
        """Whether its place has become vague."""
        return t_us - self.seen_us > _UNSEEN_US and self.motion.deviation_at(t_us) > self.vague


class GroundTracks:
    """Targets that are followed at once, so that none takes the place of another.

    Attributes:
        tracks: Those that are not lost.
    """

    def __init__(self, kind: Kind = PERSON) -> None:
        """Knows no target of a kind."""
        self.tracks: list[Track] = []
        self._kind = kind
        self._count = 0

    def update(self, t_us: int, sights: Sequence[Sight]) -> None:
        """Takes what an image shows; places that no known target can be at are new targets."""
        self.forget(t_us)
        for track in self.tracks:
            track.motion.predict(t_us)
        taken = set()
        for row, column in self._pairs(sights):
            self._see(self.tracks[row], t_us, sights[column])
            taken.add(column)
        for k, sight in enumerate(sights):
            if k not in taken:
                self._count += 1
                motion = GroundFilter(t_us, sight.place, sight.spread, self._kind.agility)
                self.tracks.append(
                    Track(
                        self._count, motion, self._kind.vague, t_us, t_us, identity=sight.identity
                    )
                )

    def heir(self, t_us: int, target: Track, sightings: int) -> Track | None:
        """The track that goes on where that of a target ended, None for none.

        It began after the target was last seen, was seen often enough, and is where the target can
        be. Such are targets that turned more sharply than the filter believed.
        """
        if t_us - target.seen_us < _UNSEEN_US:
            return None
        place = target.motion.predicted(t_us)[:2]
        reach = target.motion.deviation_at(t_us) * _REACH
        near = [
            (float(np.hypot(*(track.motion.predicted(t_us)[:2] - place))), track.number, track)
            for track in self.tracks
            if track.begun_us > target.seen_us and track.sightings >= sightings
        ]
        away, _, track = min(near, default=(np.inf, 0, target))
        return track if away < max(reach, target.vague) else None

    def remove(self, track: Track) -> None:
        """Forgets one."""
        self.tracks.remove(track)

    def forget(self, t_us: int) -> None:
        """Drops the targets that are lost."""
        self.tracks = [track for track in self.tracks if not track.is_lost(t_us)]

    def _pairs(self, sights: Sequence[Sight]) -> list[tuple[int, int]]:
        """Targets and sights that belong together, by the least sum of costs."""
        if not self.tracks or not sights:
            return []
        cost = np.array([[_cost(track, sight) for sight in sights] for track in self.tracks])
        return [
            (int(r), int(c)) for r, c in zip(*linear_sum_assignment(cost)) if cost[r, c] < _NEVER
        ]

    @staticmethod
    def _see(track: Track, t_us: int, sight: Sight) -> None:
        track.motion.update(sight.place, sight.spread)
        track.hidden_us = max(track.hidden_us, t_us - track.seen_us)
        track.seen_us, track.identity = t_us, sight.identity
        track.sightings += 1


def _cost(track: Track, sight: Sight) -> float:
    """Negative logarithm of the likelihood, doubled."""
    if not track.motion.accepts(sight.place, sight.spread):
        return _NEVER
    vague = float(np.linalg.slogdet(track.motion.covariance[:2, :2] + sight.spread)[1])
    same = sight.identity >= 0 and sight.identity == track.identity
    return track.motion.surprise(sight.place, sight.spread) + vague - _SAME * same
