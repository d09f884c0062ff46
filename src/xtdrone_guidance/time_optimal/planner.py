"""Plans of the least time through way-points and gates, by all that a multirotor's rotors give.

The whole rigid body flies from rest to rest: the thrust of every rotor is between none and its
largest, body rates stay within their limits. The plan starts from a trajectory of least snap and is
optimised twice, with intervals of half the length the second time. P. Foehn, A. Romero,
D. Scaramuzza: Time-optimal planning for quadrotor waypoint flight (2021) has the problem.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from xtdrone_core.errors import XtdroneError
from xtdrone_core.racing.track import Gate, Track
from xtdrone_dynamics.constants import GRAVITY

from ..minimum_snap import Limits, MinimumSnap
from ..planned import Planned
from .dynamics import POS, QUAT, RATES, STATES, VEL, Multirotor
from .interior_point import minimise
from .transcription import Motion, Passage, TimeProgram

if TYPE_CHECKING:
    from scipy.interpolate import CubicHermiteSpline

TOLERANCE_M = 0.3  # radius about a way-point [m]
FLOOR_M = 0.3  # least height [m]
_INTERVALS = 10  # of a leg on average, before they are halved
_MIN_INTERVALS = 4
# Weight of the barrier, distance from the bounds, tolerance: of the first plan and of the second.
_PASSES = ((0.1, 1e-2, 3e-3), (1e-4, 1e-3, 1e-4))
_ALLOWED = 1e-2  # largest violation of a plan, [m], [m/s], [rad/s]
_SLAB_M = 0.02  # half thickness of a gate
_CLEARANCE_M = 0.45  # of a frame, shortly before and after it [m]


class Reference(NamedTuple):
    """The plan at a time."""

    pos: np.ndarray  # (3,) [m]
    vel: np.ndarray  # (3,) [m/s]
    acc: np.ndarray  # (3,) [m/s^2]
    quat: np.ndarray  # (4,) xyzw
    rates: np.ndarray  # (3,) body [rad/s]


class TimeOptimal:
    """A plan; it has the form of MinimumSnap, and what every rotor does.

    Attributes:
        duration: [s].
        settled: Time from which errors count [s].
        times: (P + 2,) of the start, the passages and the end [s].
        motion: The Motion.
    """

    settled = 0.0

    def __init__(
        self,
        multirotor: Multirotor,
        ends: np.ndarray,
        passages: Sequence[Passage],
        floor: float = FLOOR_M,
    ) -> None:
        """Plans.

        Args:
            multirotor: The vehicle.
            ends: (2, 3) where it rests before and after, level [m].
            passages: Between them, in their order.
            floor: Least height [m].

        Raises:
            XtdroneError: Ends, passages or the vehicle do not allow a plan.
        """
        ends = np.asarray(ends, dtype=float).reshape(2, 3)
        _check(multirotor, ends, passages, floor)
        motion = _first_guess(multirotor, ends, passages)
        multipliers: tuple[np.ndarray, np.ndarray] | None = None
        rows = 0
        for settings in _PASSES:
            if multipliers is not None:
                motion, multipliers = _halved(motion, multipliers, rows)
            program = TimeProgram(multirotor, ends, passages, motion.intervals, floor)
            solution = minimise(program, program.pack(motion), multipliers, *settings)
            motion, rows = program.unpack(solution.x), program.region_rows
            multipliers = solution.equality, solution.inequality
        if solution.violation > _ALLOWED:
            raise XtdroneError(
                f"no time-optimal plan through {len(passages)} passages was found, constraints are "
                f"missed by {solution.violation:.2g}: give more thrust or body rate, or wider gates"
            )
        self.motion, self.iterations = motion, solution.iterations
        times = motion.times
        self.duration = float(times[-1])
        self.times = times[np.concatenate([[0], np.cumsum(motion.intervals)])]
        self._spline = _spline(motion)
        self._middles = 0.5 * (times[1:] + times[:-1])
        self._acc = np.diff(motion.states[:, VEL], axis=0) / np.diff(times)[:, None]

    def at(self, t: float) -> Planned:
        """Returns position, velocity and acceleration at a time from 0 to `duration` [s]."""
        planned = self.reference(t)
        return Planned(planned.pos, planned.vel, planned.acc)

    def reference(self, t: float) -> Reference:
        """Returns the whole motion at a time, held at both ends."""
        times, states = self.motion.times, self.motion.states
        t = min(max(t, 0.0), self.duration)
        k = min(int(np.searchsorted(times, t, side="right")) - 1, len(times) - 2)
        weight = (t - times[k]) / (times[k + 1] - times[k])
        state = states[k] + weight * (states[k + 1] - states[k])
        acc = np.array([np.interp(t, self._middles, axis) for axis in self._acc.T])
        quat = state[QUAT] / np.linalg.norm(state[QUAT])
        return Reference(self._spline(t), self._spline(t, 1), acc, quat, state[RATES])


def way_points(points: np.ndarray, radius: float = TOLERANCE_M) -> list[Passage]:
    """Returns passages within a radius [m] of points (P, 3)."""
    return [Passage.ball(point, radius) for point in points]


def gates(track: Track, laps: int, beyond: int, part: float) -> list[Passage]:
    """Returns passages through the gates of a track.

    Args:
        track: The track.
        laps: Number of laps, each through all gates.
        beyond: Number of gates after the last lap.
        part: Part of an opening or ball that may be used, about its middle, up to 1.
    """
    order = [*track.gates] * laps + [*track.gates[:beyond]]
    return [_passage(gate, part) for gate in order]


def _passage(gate: Gate, part: float) -> Passage:
    """Returns the passage through a gate or a way-point."""
    pos = np.array(gate.pos)
    if gate.radius is not None:
        return Passage.ball(pos, part * gate.radius)
    opening = 0.5 * np.array([gate.width, gate.height])
    clear = np.maximum(opening - _CLEARANCE_M, 0.5 * opening)
    half = np.array([_SLAB_M, *np.minimum(part * opening, clear)])
    return Passage.gate(pos, gate.axes(), half, clear)


def _check(
    multirotor: Multirotor, ends: np.ndarray, passages: Sequence[Passage], floor: float
) -> None:
    places = np.vstack([ends[:1], *[p.pos[None] for p in passages], ends[1:]])
    if not np.isfinite(places).all():
        raise XtdroneError("way-points that are not finite are not allowed: give numbers in metres")
    legs = np.linalg.norm(np.diff(places, axis=0), axis=1)
    if not (legs > 1e-6).all():
        first = int(np.argmin(legs))
        raise XtdroneError(
            f"way-points {first} and {first + 1} are at the same place: leave one of them out"
        )
    if places[:, 2].min() < floor:
        raise XtdroneError(
            f"a way-point at a height of {places[:, 2].min():g} m is not allowed: give {floor:g} m "
            "or more"
        )
    if multirotor.thrust_to_weight <= 1.05:
        raise XtdroneError(
            f"a thrust of {multirotor.thrust_to_weight:.2f} times the weight is not allowed for a "
            "time-optimal plan: give a vehicle with more than 1.05"
        )
    if not (np.isfinite(multirotor.max_rates) & (multirotor.max_rates > 0.0)).all():
        raise XtdroneError(
            f"body rates {multirotor.max_rates} rad/s are not allowed: give numbers above 0"
        )


def _first_guess(multirotor: Multirotor, ends: np.ndarray, passages: Sequence[Passage]) -> Motion:
    """Returns a trajectory of least snap within most of the thrust, with its attitude."""
    points = np.vstack([ends[:1], *[p.pos[None] for p in passages], ends[1:]])
    thrust = max(0.9 * multirotor.thrust_to_weight, 1.02)
    snap = MinimumSnap(points, Limits(100.0, thrust, 0.7 * float(multirotor.max_rates[:2].min())))
    legs = np.diff(snap.times)
    share = _INTERVALS * len(legs) * legs / legs.sum()
    intervals = np.maximum(np.round(share), _MIN_INTERVALS).astype(int)
    lengths = legs / intervals
    times = np.concatenate([[0.0], np.cumsum(np.repeat(lengths, intervals))])
    planned = [snap.at(min(t, snap.duration)) for t in times]
    states = np.zeros((len(times), STATES))
    states[:, POS], states[:, VEL] = [p.pos for p in planned], [p.vel for p in planned]
    force = np.array([p.acc for p in planned]) + [0.0, 0.0, GRAVITY]
    size = np.linalg.norm(force, axis=1)
    states[:, QUAT] = _without_turn(force / size[:, None])
    lift = multirotor.effectiveness[2] @ multirotor.max_thrust / multirotor.mass
    commands = np.repeat(
        0.5 * (size[1:] + size[:-1])[:, None] / lift, len(multirotor.max_thrust), 1
    )
    return Motion(states, commands, intervals, lengths)


def _without_turn(axes: np.ndarray) -> np.ndarray:
    """Returns quaternions xyzw (K, 4) with these z axes (K, 3), which do not turn about them."""
    quats = np.zeros((len(axes), 4))
    last, (x, y, z, w) = np.array([0.0, 0.0, 1.0]), (0.0, 0.0, 0.0, 1.0)
    for k, axis in enumerate(axes):
        a, b, c = np.cross(last, axis)
        d = 1.0 + last @ axis
        x, y, z, w = (
            d * x + a * w + b * z - c * y,
            d * y - a * z + b * w + c * x,
            d * z + a * y - b * x + c * w,
            d * w - a * x - b * y - c * z,
        )
        quats[k] = np.array([x, y, z, w]) / np.linalg.norm([x, y, z, w])
        (x, y, z, w), last = quats[k], axis
    return quats


def _halved(
    motion: Motion, multipliers: tuple[np.ndarray, np.ndarray], rows: int
) -> tuple[Motion, tuple[np.ndarray, np.ndarray]]:
    """Returns a motion with twice the intervals, and its multipliers; passages have some rows."""
    states = np.repeat(motion.states, 2, axis=0)[:-1]
    states[1::2] = 0.5 * (motion.states[:-1] + motion.states[1:])
    states[:, QUAT] /= np.linalg.norm(states[:, QUAT], axis=1, keepdims=True)
    equality = np.repeat(multipliers[0].reshape(-1, STATES), 2, axis=0).ravel()
    passed, tilted = np.split(multipliers[1], [rows])
    tilted = np.repeat(tilted, 2)
    inequality = np.concatenate([passed, tilted[:1], tilted])
    return (
        Motion(
            states,
            np.repeat(motion.commands, 2, axis=0),
            2 * motion.intervals,
            0.5 * motion.lengths,
        ),
        (equality, inequality),
    )


def _spline(motion: Motion) -> "CubicHermiteSpline":
    from scipy.interpolate import CubicHermiteSpline  # slow to import, and needed in flight alone

    return CubicHermiteSpline(motion.times, motion.states[:, POS], motion.states[:, VEL])
