"""Who may fly what: plans are flown once all that are near have confirmed them.

Each vehicle announces what it flies, what it has planned, and which numbers it has heard, twenty
times a second, over links that delay and lose packets. These rules keep the trajectories that are
flown apart at all times, whatever is lost:

1. a vehicle plans nothing that is too near to what it has heard of others, flown or planned;
2. it flies its plan once every other vehicle that may come near has confirmed to have heard it;
3. two plans that were made at the same time and are too near to each other: the vehicle with the
   lower number keeps its plan, the other one drops it as soon as it hears of it.

Whoever confirms a plan has kept to it from then on, and what he tells with his confirmation is all
that he flies or may fly. Without confirmation the vehicle flies on what it flies, which ends with
a stop. RMADER (Kondo and others, ICRA 2023) waits for the longest delay instead, which losses
break.
"""

import numpy as np

from xtdrone_core.contracts import Snapshot
from xtdrone_core.runs.snapshot import Memory

from ..planners.planner import Trajectory
from . import apart
from .packets import NOTHING, Announced, Announcement, as_heard, pack, renew, unpack

PERIOD_US = 40_000  # between two announcements [us]
_SILENT_S = 2.0  # who was far away and has been silent for longer is out of range [s]
NONE, WAITS, CONFIRMED, DROPPED = 0, 1, 2, 3  # what has become of a plan


class Agreement(Memory):
    """One vehicle's side: what it has told and heard.

    Attributes:
        separation: Least distance of two trajectories [m], with heights as in apart.py.
        reach: Vehicles further than this cannot meet before they have talked again [m].
        speed: Largest [m/s].
        dropped: Plans that were dropped so far.
        flown_count: Plans that were confirmed so far.
    """

    MEMORY = ("dropped", "flown_count", "_rows", "_sent_us", "_own", "_next")

    def __init__(
        self, index: int, n: int, length: int, separation: float, reach: float, speed: float
    ) -> None:
        """A vehicle that has told and heard nothing.

        Args:
            index: Its number in the fleet.
            n: Vehicles in the fleet.
            length: Of a packet's row.
            separation, reach, speed: See the class.
        """
        self.index, self.n = index, n
        self.separation, self.reach, self.speed = separation, reach, speed
        self.dropped, self.flown_count = 0, 0
        self._rows = np.zeros((n, length))  # the newest packet of each vehicle
        self._sent_us = np.full(n, -1, dtype=np.int64)
        self._own = np.zeros(length)  # what it announces
        self._next = 1  # number of its next trajectory
        self._heard: dict[int, Announcement] = {}
        self._announced = unpack(self._own)
        self._clear = set[tuple[int, int]]()  # vehicles and numbers that the plan keeps clear of

    def load(self, snapshot: Snapshot) -> None:
        """Restores what save() returned."""
        super().load(snapshot)
        self._announced = unpack(self._own)
        self._clear.clear()
        heard = np.flatnonzero(self._sent_us >= 0)
        self._heard = {j: unpack(self._rows[j]) for j in heard.tolist()}

    def begin(self, trajectory: Trajectory) -> None:
        """Announces where it rests at the start; nobody has to confirm that."""
        nobody = np.zeros(self.n, dtype=np.int64)
        self._tell(Announcement(trajectory.pos[0], self._numbered(trajectory), NOTHING, nobody))

    def packet(self, pos: np.ndarray) -> np.ndarray:
        """Returns what it announces now (P,), from where it is [m]."""
        heard = np.zeros(self.n, dtype=np.int64)
        for j, other in self._heard.items():
            heard[j] = max(other.flown.number, other.planned.number)
        self._announced = self._announced._replace(pos=pos.copy(), heard=heard)
        renew(self._own, pos, heard)
        return self._own

    def hear(self, senders: np.ndarray, rows: np.ndarray, sent_us: np.ndarray) -> None:
        """Takes the newest packets of other vehicles; senders that were not heard have -1 us."""
        for j, row, sent in zip(senders.tolist(), rows, sent_us.tolist()):
            if sent > self._sent_us[j]:
                self._rows[j], self._sent_us[j] = row, sent
                self._heard[j] = unpack(self._rows[j], self._heard.get(j))

    def others(self) -> tuple[Trajectory, ...]:
        """Returns all that others fly or may fly."""
        return tuple(
            each.trajectory
            for other in self._heard.values()
            for each in (other.flown, other.planned)
            if each.trajectory is not None
        )

    def flown_by(self, j: int) -> Trajectory | None:
        """Returns what another vehicle flies, as it was heard last; None if it was not heard."""
        return self._heard[j].flown.trajectory if j in self._heard else None

    def where(self, t_us: int) -> np.ndarray:
        """Returns where those that were heard should be (M, 3) [m] at a time [us]."""
        places = [
            other.pos if other.flown.trajectory is None else other.flown.trajectory.since(t_us).pos
            for other in self._heard.values()
        ]
        return np.array(places).reshape(-1, 3)

    def is_free(self, trajectory: Trajectory, t_us: int) -> bool:
        """Whether a trajectory keeps its distance from all that others fly or may fly."""
        return all(
            apart.least(trajectory, other, t_us) >= self.separation for other in self.others()
        )

    def propose(self, trajectory: Trajectory) -> None:
        """Announces a plan in place of the last one."""
        self._clear.clear()
        self._tell(self._announced._replace(planned=self._numbered(trajectory)))

    @property
    def planned(self) -> Trajectory | None:
        """What waits for confirmation."""
        return self._announced.planned.trajectory

    def decide(self, t_us: int, latest_us: int) -> int:
        """Says what becomes of the plan: WAITS, CONFIRMED or DROPPED; NONE without one.

        Args:
            t_us: Simulated time [us].
            latest_us: When it is too late to fly it [us].
        """
        own, plan = self._announced, self._announced.planned
        if plan.trajectory is None:
            return NONE
        if t_us > latest_us or self._is_outdone(plan.trajectory, t_us):
            self._tell(own._replace(planned=NOTHING))
            self.dropped += 1
            return DROPPED
        if self.unconfirmed(t_us):
            return WAITS
        self._tell(own._replace(flown=plan, planned=NOTHING))
        self.flown_count += 1
        return CONFIRMED

    def unconfirmed(self, t_us: int) -> list[int]:
        """Returns the vehicles that have to confirm the plan and have not."""
        own = self._announced
        return [
            j
            for j, other in self._heard.items()
            if other.heard[self.index] < own.planned.number and self._may_meet(own, j, t_us)
        ]

    def _may_meet(self, own: Announcement, j: int, t_us: int) -> bool:
        """Whether another vehicle may come near before it has been heard again."""
        age = min((t_us - int(self._sent_us[j])) * 1e-6, _SILENT_S)
        gap = float(np.linalg.norm(self._heard[j].pos - own.pos))
        return gap < self.reach + self.speed * age

    def _is_outdone(self, trajectory: Trajectory, t_us: int) -> bool:
        """Whether what another one flies, or a plan that goes first, is too near to the plan."""
        for j, other in self._heard.items():
            first = (other.flown, other.planned) if j < self.index else (other.flown,)
            for each in first:
                if each.trajectory is None or (j, each.number) in self._clear:
                    continue
                if apart.least(trajectory, each.trajectory, t_us) < self.separation:
                    return True
                self._clear.add((j, each.number))
        return False

    def _tell(self, announcement: Announcement) -> None:
        self._announced = announcement
        self._own[:] = pack(announcement)

    def _numbered(self, trajectory: Trajectory) -> Announced:
        """Returns a trajectory as others will hear it, with the next number."""
        self._next += 1
        return as_heard(Announced(self._next - 1, trajectory))


def reach_of(speed: float, braking: float, keep: float, separation: float) -> float:
    """Returns the distance within which two vehicles have to talk before they fly a plan [m].

    Args:
        speed: Largest [m/s].
        braking: Of a stop [m/s^2].
        keep: From when a plan is made to the begin of its stop [s].
        separation: Least distance [m].
    """
    stop = 1.5 * speed / braking  # of a smooth step
    return 2.0 * speed * (keep + 0.5 * stop) + separation
