"""Slot assignment and collision-free transitions between formations.

Slots are assigned by minimum total distance (linear_sum_assignment), and all followers move along
straight lines with minimum-jerk motions of the same duration. The smallest separation during the
transition is computed in advance. If it is too small, the following are tried in order:

1. the assignment of minimum squared distance, which keeps all followers at least 1/sqrt(2) of the
   slot spacing apart (Turpin, Michael and Kumar, CAPT), excluding lines close to the leader and
   lines that still conflict;
2. lifting the whole fleet above the leader;
3. lateral detours around the leader and each other;
4. expanding the fleet, moving it away from the leader to one side, and back; scaling a formation by
   k scales every separation by k.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from xtdrone_core.flight_agent import minimum_jerk

from .errors import FormationError
from .formations import separation
from .network import separation_pairs

CLEARANCE = 1.4  # planned minimum separation between any two vehicles [m]
MAX_CLIMB, MAX_SINK = 2.5, 1.3  # vertical speed of a transition, below PX4's 3 and 1.5 [m/s]
_REPAIRS = 6  # times that conflicting lines are reassigned
_SPREADS = ((1.5, 1.5, 1.0), (1.5, 1.5, 1.5), (2.5, 2.5, 1.0), (2.5, 2.5, 2.5))
_PEAK_SPEED = 1.875  # minimum-jerk motion, in distance / duration
_PEAK_ACCELERATION = 10.0 / math.sqrt(3.0)  # same motion, in distance / duration^2
_BUMP_ACCELERATION = 2.0 * math.pi**2  # detour at the same pace, in size / duration^2
_DETOUR_ITERATIONS = 25  # limit of the search for detours
_SAMPLES = 65  # points of the polyline at which a motion with detours is checked
# Directions in which the fleet may move away from the leader: level, and up by 30 and 60 degrees.
_SIDES = np.array(
    [
        (math.cos(a) * math.cos(b), math.sin(a) * math.cos(b), math.sin(b))
        for b in (0.0, math.pi / 6, math.pi / 3)
        for a in 2 * math.pi * np.arange(12) / 12
    ]
)


def load() -> None:
    """Imports what assigns slots, which the first plan would wait for."""
    import scipy.optimize
    import scipy.spatial.distance  # noqa: F401


def assign(current: npt.ArrayLike, slots: npt.ArrayLike, metric: str = "distance") -> np.ndarray:
    """Returns the assignment of followers to slots with the minimum total cost.

    Args:
        current: (M, 3) followers relative to the leader [m].
        slots: (M, 3) slots relative to the leader [m].
        metric: "distance", or "squared" for squared distances.

    Returns:
        Index into slots of each follower (M,), a permutation.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    cost = cdist(current, slots, "sqeuclidean" if metric == "squared" else "euclidean")
    return linear_sum_assignment(cost)[1]


Motion = tuple[np.ndarray, np.ndarray, np.ndarray]  # offsets, velocity, acceleration, each (M, 3)
# Method, order, waypoints and detours of a transition.
_Candidate = tuple[str, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Transition:
    """The followers' offsets from the leader as a function of time."""

    start_us: int  # simulated time at which it begins [us]
    waypoints: np.ndarray  # (W, M, 3) relative to the leader [m]
    durations: tuple[float, ...]  # one per leg, W - 1 of them [s]
    detours: np.ndarray  # (W - 1, M, 3) largest deviation from the straight leg [m]
    order: np.ndarray  # (M,) slot of each follower
    min_separation: float  # smallest separation during the transition, the leader included [m]
    method: str = field(default="straight")

    @property
    def goal(self) -> np.ndarray:
        """(M, 3) offsets at the end, in the followers' order [m]."""
        return self.waypoints[-1]

    @property
    def end_us(self) -> int:
        """Simulated time at which the last offset is reached [us]."""
        return self.start_us + math.ceil(sum(self.durations) * 1e6)

    def at(self, t_us: int) -> Motion:
        """Returns offsets (M, 3) [m], their velocity [m/s] and acceleration [m/s^2] at a time."""
        t = (t_us - self.start_us) * 1e-6
        for leg, duration in enumerate(self.durations):
            if t < duration:
                return self._leg(leg, max(t, 0.0), duration)
            t -= duration
        still = np.zeros_like(self.goal)
        return self.goal, still, still

    def _leg(self, leg: int, t: float, duration: float) -> Motion:
        s, ds, dds = minimum_jerk(t / duration)
        a, b, side = self.waypoints[leg], self.waypoints[leg + 1], self.detours[leg]
        line = b - a
        angle = math.pi * s
        bump, slope = math.sin(angle) ** 2, math.pi * math.sin(2 * angle)
        curve = 2 * math.pi**2 * math.cos(2 * angle)
        direction = line + slope * side
        pos = a + s * line + bump * side
        acc = (dds * direction + ds * ds * curve * side) / duration**2
        return pos, ds / duration * direction, acc

    def save(self) -> dict[str, Any]:
        """Returns its fields, for a snapshot."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


def hold(offsets: npt.ArrayLike, t_us: int = 0) -> Transition:
    """Returns a transition that holds offsets (M, 3) [m]."""
    held = np.array(offsets, dtype=float).reshape(-1, 3)
    return Transition(
        int(t_us),
        held[None],
        (),
        np.zeros((0, *held.shape)),
        np.arange(len(held)),
        separation(held),
        "hold",
    )


def plan(
    current: npt.ArrayLike,
    slots: npt.ArrayLike,
    t_us: int = 0,
    speed: float = 3.0,
    acceleration: float = 2.0,
    clearance: float = CLEARANCE,
    floor: float = -math.inf,
) -> Transition:
    """Plans a transition in which no two vehicles come closer than the clearance.

    If the start or the goal is itself closer than the clearance, the smallest separation is
    (almost) that of the closer of the two.

    Args:
        current: (M, 3) followers relative to the leader [m].
        slots: (M, 3) slots of the goal [m].
        t_us: Simulated time of the start [us].
        speed: Largest speed relative to the leader [m/s]. Since vehicles must be able to keep up,
            the vertical speed also stays within PX4's limits.
        acceleration: Largest acceleration [m/s^2].
        clearance: Minimum separation, the leader included [m].
        floor: Lowest offset clear of the ground, relative to the leader [m].

    Returns:
        The transition.

    Raises:
        FormationError: The numbers of slots and followers differ, or no motion was found.
    """
    current = np.asarray(current, dtype=float).reshape(-1, 3)
    slots = np.asarray(slots, dtype=float).reshape(-1, 3)
    if current.shape != slots.shape:
        raise FormationError(
            f"{len(slots)} slots do not fit {len(current)} followers: give one slot for each"
        )
    for name, value in (("speed", speed), ("acceleration", acceleration)):
        if not value > 0:
            raise FormationError(
                f"{name} {value} of a transition is not allowed: give a positive number"
            )
    need = min(clearance, 0.98 * separation(current), 0.98 * separation(slots))
    best = 0.0
    for method, order, waypoints, detours in _candidates(current, slots, need, floor):
        smallest = _min_separation(waypoints, detours)
        if smallest >= need - 1e-9:
            return Transition(
                int(t_us),
                waypoints,
                tuple(_durations(waypoints, detours, speed, acceleration)),
                detours,
                order,
                smallest,
                method,
            )
        best = max(best, smallest)
    raise FormationError(
        f"no transition keeps {need:.2f} m between vehicles (best {best:.2f} m): "
        "fly another formation in between, or give a larger spacing"
    )


def _candidates(
    current: np.ndarray, slots: np.ndarray, need: float, floor: float
) -> Iterator[_Candidate]:
    """Yields motions in the order of preference."""
    from scipy.optimize import linear_sum_assignment

    none = np.zeros((1, *current.shape))
    straight_order = assign(current, slots)
    yield "straight", straight_order, np.stack([current, slots[straight_order]]), none
    cost = _cost_around_leader(current, slots, need)
    for _ in range(_REPAIRS):
        order = linear_sum_assignment(cost)[1]
        goal = slots[order]
        yield "squared", order, np.stack([current, goal]), none
        conflicts = _conflicts(current, goal, need)
        cost[conflicts, order[conflicts]] *= 4.0
    yield _lifted(current, slots, need)
    for tried in (order, straight_order):
        goal = slots[tried]
        detours = _detours(current, goal, need, floor)
        yield "detours", tried, np.stack([current, goal]), detours[None]
    yield from _move_aside(current, slots, need, floor)


def _lifted(current: np.ndarray, slots: np.ndarray, need: float) -> _Candidate:
    """Lets all followers climb above the leader, exchange positions there, and descend."""
    order = assign(current, slots, "squared")
    goal = slots[order]
    up = [0.0, 0.0, need - min(current[:, 2].min(), goal[:, 2].min(), 0.0)]
    return (
        "lift",
        order,
        np.stack([current, current + up, goal + up, goal]),
        np.zeros((3, *current.shape)),
    )


def _move_aside(
    current: np.ndarray, slots: np.ndarray, need: float, floor: float
) -> Iterator[_Candidate]:
    """Lets all followers expand, leave the leader, exchange positions there, and return.

    Away from the leader an assignment by minimum squared distance is safe once the formation is
    expanded by sqrt(2). The path away from the leader must be free of vehicles.
    """
    lowest = min(current[:, 2].min(), slots[:, 2].min(), floor)
    for spread in _SPREADS:
        a, b = current * spread, slots * spread
        if min(a[:, 2].min(), b[:, 2].min()) < lowest - 1e-9:
            continue
        order = assign(a, b, "squared")
        for side in _SIDES:
            away = (need - min((a @ side).min(), (b @ side).min(), 0.0)) * side
            out = np.broadcast_to(away, a.shape)
            if min(_gaps(a, out).min(), _gaps(b, out).min()) >= need:
                legs = np.stack([current, a, a + away, b[order] + away, b[order], slots[order]])
                yield "aside", order, legs, np.zeros((5, *current.shape))


def _cost_around_leader(current: np.ndarray, slots: np.ndarray, need: float) -> np.ndarray:
    """Returns squared distances (M, M); lines that pass near the leader have a large penalty."""
    from scipy.spatial.distance import cdist

    cost = cdist(current, slots, "sqeuclidean") + 1e-3
    line = slots[None] - current[:, None]
    length2 = np.maximum(np.einsum("ijk,ijk->ij", line, line), 1e-12)
    along = np.clip(-np.einsum("ik,ijk->ij", current, line) / length2, 0.0, 1.0)
    nearest = np.linalg.norm(current[:, None] + along[..., None] * line, axis=2)
    cost[nearest < need] += cost.sum()
    return cost


def _conflicts(current: np.ndarray, goal: np.ndarray, need: float) -> np.ndarray:
    """Returns followers (indices) that come too close to an earlier one on straight lines."""
    conflicts: list[np.intp] = []
    for i in range(len(current) - 1):
        start = current[i + 1 :] - current[i]
        close = _gaps(start, goal[i + 1 :] - goal[i] - start) < need
        conflicts.extend(np.flatnonzero(close) + i + 1)
    return np.unique(np.array(conflicts, dtype=np.int64))


def _gaps(start: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Returns the smallest norm (...) of vectors (..., 3) that move from start along a line."""
    length2 = np.maximum(np.einsum("...k,...k", line, line), 1e-12)
    along = np.clip(-np.einsum("...k,...k", start, line) / length2, 0.0, 1.0)
    return np.linalg.norm(start + along[..., None] * line, axis=-1)


def _detours(start: np.ndarray, goal: np.ndarray, need: float, floor: float) -> np.ndarray:
    """Returns detours (M, 3) that keep the motion clear of the leader and of each other.

    Where two vehicles come too close, both deviate along the line that joins them at that time; the
    leader does not. This is iterated, since a detour may cause other conflicts.
    """
    a, b = (np.vstack([np.zeros((1, 3)), x]) for x in (start, goal))
    detours = np.zeros_like(a)
    samples = np.linspace(0.0, 1.0, _SAMPLES)
    for _ in range(_DETOUR_ITERATIONS):
        nearest: dict[tuple[int, int], tuple[float, float, np.ndarray]] = {}
        for s in samples:
            pos = a + s * (b - a) + math.sin(math.pi * s) ** 2 * detours
            for i, j in separation_pairs(pos, 1.02 * need):
                gap = float(np.linalg.norm(pos[i] - pos[j]))
                if (i, j) not in nearest or gap < nearest[i, j][0]:
                    nearest[i, j] = gap, s, pos[i] - pos[j]
        if not nearest or len(nearest) > 2 * len(a):  # no conflict, or too many
            break
        for (i, j), (gap, s, difference) in nearest.items():
            away = difference / gap if gap > 0.05 else _level_normal((b - a)[i] - (b - a)[j])
            reach = (1.05 * need - gap) / max(math.sin(math.pi * s) ** 2, 0.2)
            detours[i] += (0.5 if i else 0.0) * reach * away
            detours[j] -= (0.5 if i else 1.0) * reach * away
        below = np.minimum(a[:, 2], b[:, 2]) + detours[:, 2] < floor
        detours[below, 2] = 0.0
    return detours[1:]


def _level_normal(line: np.ndarray) -> np.ndarray:
    """Returns a horizontal unit normal of a line, so that no vehicle is sent below another."""
    level = np.array([-line[1], line[0], 0.0])
    size = np.linalg.norm(level)
    return level / size if size > 1e-6 else np.array([1.0, 0.0, 0.0])


def _min_separation(waypoints: np.ndarray, detours: np.ndarray) -> float:
    """Returns the smallest distance between any two vehicles, the leader at zero included [m]."""
    return min(
        _leg_separation(a, b, side) for a, b, side in zip(waypoints[:-1], waypoints[1:], detours)
    )


def _leg_separation(start: np.ndarray, goal: np.ndarray, detour: np.ndarray) -> float:
    """Returns the same for one leg; exact for straight lines, by a polyline for detours."""
    a, b, side = (np.vstack([np.zeros((1, 3)), x]) for x in (start, goal, detour))
    bends = np.any(side, axis=1)
    smallest = math.inf
    for i in range(len(a) - 1):
        offset = a[i + 1 :] - a[i]
        gap = _gaps(offset, b[i + 1 :] - b[i] - offset)
        if bends.any():
            gap[bends[i + 1 :] | bends[i]] = math.inf
        smallest = min(smallest, float(gap.min()))
    if bends.any():
        s = np.linspace(0.0, 1.0, _SAMPLES)[:, None, None]
        path = a + s * (b - a) + np.sin(math.pi * s) ** 2 * side
        for i in np.flatnonzero(bends):
            apart = path - path[:, i : i + 1]
            gap = _gaps(apart[:-1], np.diff(apart, axis=0))
            gap[:, i] = math.inf
            smallest = min(smallest, float(gap.min()))
    return smallest


def _durations(
    waypoints: np.ndarray, detours: np.ndarray, speed: float, acceleration: float
) -> Iterator[float]:
    """Yields the durations of the legs such that no vehicle exceeds a limit [s]."""
    for a, b, side in zip(waypoints[:-1], waypoints[1:], detours):
        bend = np.linalg.norm(side, axis=1)
        reach = np.linalg.norm(b - a, axis=1)
        longest = float((reach + math.pi * bend).max(initial=0.0))
        force = float(
            (
                _PEAK_ACCELERATION * reach
                + bend * (math.pi * _PEAK_ACCELERATION + _BUMP_ACCELERATION * _PEAK_SPEED**2)
            ).max(initial=0.0)
        )
        rise = (b - a)[:, 2]
        steep = math.pi * np.abs(side[:, 2])
        vertical = max(
            float((rise + steep).max(initial=0.0)) / MAX_CLIMB,
            float((steep - rise).max(initial=0.0)) / MAX_SINK,
        )
        yield max(
            _PEAK_SPEED * longest / speed,
            _PEAK_SPEED * vertical,
            math.sqrt(force / acceleration),
            0.5,
        )
