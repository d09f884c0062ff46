"""A pilot among others: it flies a plan once those near it have confirmed it."""

import dataclasses

import numpy as np

from ..maps.distance_field import DistanceField
from ..maps.voxel_map import VoxelMap
from ..pilot import PLAN_US, Pilot
from ..planners import guard
from ..planners.asking import Answer
from ..planners.planner import STEP_S, Limits, Plan, Planner, Situation, Trajectory
from .agreement import CONFIRMED, DROPPED, Agreement
from .apart import SQUAT
from .packets import fits

MORE_S = 0.3  # a plan is flown for so long more than the next one has to wait, before its stop [s]
# Parts of the speed at which a way past the others is tried, and whether in a wide berth of them;
# without, the separation is kept as well.
_TRIES = ((1.0, True), (0.5, True), (0.8, False), (0.3, False))
_SETTLED_S = 1.0  # what rests by then is an obstacle for the search [s]
_SLACK = 0.25  # of such an obstacle's radius, for the voxels [m]
_OTHERS = "another vehicle is in the way"


class SharingPilot(Pilot):
    """A Pilot whose plans begin a moment later, so that others can confirm them before.

    Attributes:
        agreement: What it has told and heard.
    """

    MEMORY = (*Pilot.MEMORY, "agreement", "_waiting", "_begin_us")

    def __init__(
        self,
        planner: Planner,
        limits: Limits,
        voxels: VoxelMap,
        field: DistanceField,
        agreement: Agreement,
        lead_us: int,
    ) -> None:
        """A pilot that holds.

        Args:
            planner, limits, voxels, field: As of Pilot.
            agreement: Its side of what is agreed upon.
            lead_us: A plan begins so long after it was made, whole samples [us].
        """
        super().__init__(planner, limits, voxels, field)
        self.agreement = agreement
        self.others = agreement.others
        self._lead_us, self._keep_s = lead_us, 1e-6 * lead_us + MORE_S
        self._waiting: list[
            np.ndarray
        ] = []  # the plan that waits: position, velocity, acceleration
        self._begin_us = 0  # and when it begins

    def start(self, t_us: int, pos: np.ndarray, yaw: float) -> None:
        """Holds a place, and says so; vehicles plan one after the other."""
        super().start(t_us, pos, yaw)
        self._next_us = t_us + self.agreement.index * PLAN_US // self.agreement.n
        self.agreement.begin(self.flown)

    def decide(self, t_us: int) -> None:
        """Flies what was planned, if it was confirmed; to be called before each step()."""
        found = self.agreement.decide(t_us, self._begin_us)
        if found == CONFIRMED:
            self._set(_joined(self.flown, t_us, Trajectory(self._begin_us, *self._waiting)))
            self.reason, self.held_us = "", -1
            self._next_us = t_us
        elif found == DROPPED:
            self._hold(t_us, _OTHERS)
            self._next_us = t_us

    def _plan(self, t_us: int, pos: np.ndarray) -> None:
        """Plans, unless a plan waits; it is dropped if the vehicle has to stop."""
        if self.agreement.planned is None:
            super()._plan(t_us, pos)
        else:
            self._update(t_us, pos)
            self._stop_before_what_is_new(t_us)

    def _update(self, t_us: int, pos: np.ndarray) -> None:
        """Marks vehicles that rest as obstacles, for the search."""
        super()._update(t_us, pos)
        settled_us = t_us + self._lead_us + round(_SETTLED_S * 1e6)
        kept = self.limits.radius + _SLACK  # by the search
        own = self.flown.since(t_us + self._lead_us).pos
        for other in self.others():
            if other.begun_us + round(other.duration * 1e6) < settled_us:
                stand(self._field, other.pos[-1], self.agreement.separation, own, kept)

    def _asked(self, situation: Situation) -> Answer:
        """Plans slower where others are in the way, then without a wide berth of them."""
        plan, total_ms = Plan(None, reason=_OTHERS), 0.0
        for part, wide in _TRIES:
            limits = situation.limits._replace(speed=part * situation.limits.speed)
            others = situation.others if wide else ()
            tried = dataclasses.replace(situation, limits=limits, others=others)
            plan, thread_ms = super()._asked(tried)
            total_ms += thread_ms
            if plan.trajectory is None:
                continue
            stop = guard.stopping(plan.trajectory, self._keep_s, self._deceleration)
            if fits(stop) and self.agreement.is_free(stop, situation.t_us):
                return Answer(plan, total_ms)
            plan = Plan(None, plan.path, _OTHERS)
        return Answer(plan, total_ms)

    def _take(self, t_us: int, stop: Trajectory, reason: str) -> bool:
        """Announces a plan; it waits."""
        if reason and np.abs(stop.pos - stop.pos[0]).max() < 0.05:
            self.reason = reason  # it would stay where it is: nobody has to confirm that
            return False
        self._begin_us, self._waiting = stop.begun_us, [stop.pos, stop.vel, stop.acc]
        self.agreement.propose(stop)
        return True

    def _begin_anew(self, stop: Trajectory) -> None:
        """Says that it is somewhere else than it had announced."""
        super()._begin_anew(stop)
        self.agreement.begin(stop)


def stand(
    field: DistanceField, place: np.ndarray, separation: float, own: np.ndarray, kept: float
) -> None:
    """Lowers the distances of a field to those from a vehicle that rests.

    Its obstacle is what the separation has beyond the distance that the search keeps anyway, less
    above and below, as heights count less. It does not reach to where the own vehicle already is.

    Args:
        field: Is changed.
        place: (3,) of the vehicle [m].
        separation: Of the two [m].
        own: (3,) where the own vehicle's plan begins [m].
        kept: Distance that the search keeps from obstacles [m].
    """
    heights = (np.arange(field.square.shape[2]) + field.low[2] + 0.5) * field.resolution - place[2]
    radii = np.sqrt(np.maximum(separation**2 - (SQUAT * heights) ** 2, 0.0))
    radii = np.minimum(radii, float(np.hypot(*(own - place)[:2]))) - kept
    reach = separation + field.reach
    low = np.floor((place[:2] - reach) / field.resolution).astype(int) - field.low[:2]
    high = np.ceil((place[:2] + reach) / field.resolution).astype(int) - field.low[:2]
    low, high = np.maximum(low, 0), np.minimum(high, field.square.shape[:2])
    if (high <= low).any():
        return
    x, y = (
        (np.arange(low[k], high[k]) + field.low[k] + 0.5) * field.resolution - place[k]
        for k in range(2)
    )
    gap = np.maximum(np.hypot(x[:, None], y[None, :])[:, :, None] - radii, 0.0) / field.resolution
    most = (field.reach / field.resolution) ** 2
    square = np.where(radii > 0.0, np.minimum(gap**2, most), most).astype(field.square.dtype)
    part = field.square[low[0] : high[0], low[1] : high[1]]
    np.minimum(part, square, out=part)


def _joined(flown: Trajectory, t_us: int, then: Trajectory) -> Trajectory:
    """Returns what is flown from now on until another trajectory begins, and that one."""
    count = round((then.begun_us - t_us) * 1e-6 / STEP_S)
    before = [flown.since(t_us + round(k * STEP_S * 1e6)) for k in range(count)]
    rows = [np.array([state[q] for state in before]).reshape(-1, 3) for q in range(3)]
    parts = (then.pos, then.vel, then.acc)
    return Trajectory(t_us, *(np.concatenate(pair) for pair in zip(rows, parts)))
