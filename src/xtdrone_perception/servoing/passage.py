"""The way through openings that images show: which comes next, and how it is passed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .openings import Opening

_GATE = 16.3  # squared Mahalanobis distance that 99.9 % of three true coordinates are within
_CONFIRMED = 4  # sightings after which an opening is flown to
_SAME = 1.2  # openings are not so near to each other [m]
_STALE_US = 3_000_000  # an opening that was seen once or twice is forgotten after this time [us]
_DRIFT = 0.02  # of the vehicle's estimate, standard deviation of a random walk [m/sqrt(s)]
_BEYOND = 1.6  # so far behind an opening it is passed [m]
_FUNNEL = 0.22, 0.18  # room aside at the opening [m], and more per metre before it
_GAIN = 1.4  # speed aside per distance from the axis [1/s]
_MOST_ASIDE = 2.0  # [m/s]
_NEAR = 1.8  # before it the vehicle stays on the axis when its course is not good [m]


@dataclass
class Known:
    """An opening that was seen."""

    pos: np.ndarray  # (3,) world [m]
    covariance: np.ndarray  # (3, 3)
    normal: np.ndarray  # (2,) level, in the direction of flight
    seen_us: int
    sightings: int = 1

    def take(self, t_us: int, opening: Opening) -> bool:
        """Improves by what an image shows; returns whether it may be the same opening."""
        error = opening.pos - self.pos
        predicted = self.covariance + _DRIFT**2 * 1e-6 * (t_us - self.seen_us) * np.eye(3)
        total = predicted + opening.spread
        if float(error @ np.linalg.solve(total, error)) > _GATE:
            return float(np.linalg.norm(error)) < 0.3 * _SAME
        gain = predicted @ np.linalg.inv(total)
        self.pos = self.pos + gain @ error
        left = np.eye(3) - gain
        self.covariance = left @ predicted @ left.T + gain @ opening.spread @ gain.T
        turned = opening.normal * math.copysign(1.0, float(opening.normal @ self.normal))
        share = max(0.1, 1.0 / (self.sightings + 1))
        mixed = (1.0 - share) * self.normal + share * turned
        self.normal = mixed / np.linalg.norm(mixed)
        self.seen_us, self.sightings = t_us, self.sightings + 1
        return True


@dataclass
class Passages:
    """The openings of a flight, and those that were passed.

    Attributes:
        next: The one that is flown to, or None while it searches.
        passed: Those behind, in their order.
    """

    speed: float  # through an opening [m/s]
    next: Known | None = None
    passed: list[Known] = field(default_factory=list)
    _known: list[Known] = field(default_factory=list)

    def see(self, t_us: int, openings: Sequence[Opening]) -> None:
        """Takes what an image shows."""
        for opening in openings:
            near = sorted(self._known, key=lambda known: _away(known, opening.pos))
            if not any(known.take(t_us, opening) for known in near[:2]):
                self._known.append(
                    Known(opening.pos.copy(), opening.spread, opening.normal.copy(), t_us)
                )
        self._known = [
            known
            for known in self._known
            if known.sightings >= _CONFIRMED or t_us - known.seen_us < _STALE_US
        ]

    def choose(self, pos: np.ndarray, heading: np.ndarray) -> bool:
        """Chooses the next opening, the nearest one ahead; returns whether it just did.

        Args:
            pos: (3,) of the vehicle [m].
            heading: (2,) where it looks.
        """
        if self.next is not None:
            return False
        open_ = [
            known
            for known in self._known
            if known.sightings >= _CONFIRMED
            and all(_away(known, behind.pos) > _SAME for behind in self.passed)
        ]
        if not open_:
            return False

        def cost(known: Known) -> float:
            ahead = known.pos[:2] - pos[:2]
            distance = float(np.linalg.norm(ahead))
            return distance * (1.5 - float(ahead @ heading) / max(distance, 1e-6))

        self.next = min(open_, key=cost)
        ahead = self.next.pos[:2] - pos[:2]
        self.next.normal = self.next.normal * math.copysign(1.0, float(self.next.normal @ ahead))
        return True

    def fly(self, pos: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """How to fly on through the next opening.

        Args:
            pos: (3,) of the vehicle [m].

        Returns:
            Velocity (3,) [m/s], direction (2,) to look to, and whether it was just passed.
        """
        known = self.next
        assert known is not None
        normal = np.array([*known.normal, 0.0])
        ahead = known.pos - pos
        along = float(ahead @ normal)
        aside = ahead - along * normal
        if along < -_BEYOND:
            self.passed.append(known)
            self.next = None
            return normal * self.speed, known.normal, True
        off = float(np.linalg.norm(aside))
        least, grows = _FUNNEL
        room = least + grows * max(along, 0.0)
        forward = self.speed * min(1.0, max(0.0, 2.0 - off / room))
        if forward == 0.0 and along < _NEAR:
            forward = -0.5 * self.speed if along > 0.0 else 0.5 * self.speed
        velocity = forward * normal + aside * min(_GAIN, _MOST_ASIDE / max(off, 1e-6))
        look = known.normal if along < 1.0 else ahead[:2] / np.linalg.norm(ahead[:2])
        return velocity, look, False


def _away(known: Known, pos: np.ndarray) -> float:
    return float(np.linalg.norm(known.pos - pos))
