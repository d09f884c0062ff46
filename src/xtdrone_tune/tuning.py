"""Tunes the axes of a flight record, and evaluates the result on the part that was held out."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from xtdrone_control.teleoperation.control import AXES, PITCH, STEP_S
from xtdrone_control.teleoperation.gains import TABLE_2
from xtdrone_control.teleoperation.record import Record
from xtdrone_control.teleoperation.simulator import PLACES, simulate
from xtdrone_core.errors import unknown_name

from .errors import TuneError
from .objective import PAD, Axis, axis_of, bounds
from .search import GENERATIONS, METHODS

_MIN_STICK_STD = 0.02  # a stick with less is not moved
_MIN_STD = (0.05, 0.035, 0.01, 0.01)  # less is no motion: height [m], yaw, pitch, roll [rad]


@dataclass(frozen=True)
class Part:
    """Result of one axis on one part of the record.

    Attributes:
        cost: J [m^2 s] or [rad^2 s].
        nothing: J of a vehicle that does nothing.
        spread: J of the best constant.
        measured: (K,) [m] or [rad].
        flown: (K,) by the simulator.
    """

    cost: float
    nothing: float
    spread: float
    measured: np.ndarray
    flown: np.ndarray

    @property
    def relative_cost(self) -> float:
        """J divided by that of doing nothing."""
        return self.cost / max(self.nothing, 1e-30)

    @property
    def unexplained(self) -> float:
        """J divided by that of the best constant."""
        return self.cost / max(self.spread, 1e-30)


@dataclass(frozen=True)
class Tuned:
    """Gains of one axis.

    Attributes:
        name: height, yaw, pitch or roll.
        moves: Whether stick and vehicle move on this axis.
        candidate: (7,) as objective.NAMES; NaN where the axis does not move.
        fitted: Result on the part that it was tuned on; None where the axis does not move.
        held_out: Result on the other part; None where there is none, or the axis does not move.
    """

    name: str
    moves: bool
    candidate: np.ndarray
    fitted: Part | None = None
    held_out: Part | None = None

    @property
    def gains(self) -> np.ndarray:
        """(4,) k, p, i, d."""
        return self.candidate[:4]


def moves(axis: Axis) -> bool:
    """Tells whether both the stick and the vehicle move."""
    return bool(axis.stick.std() > _MIN_STICK_STD and axis.measured.std() > _MIN_STD[axis.index])


@dataclass(frozen=True)
class Preview:
    """Motion of one axis of a record.

    Attributes:
        name: height, yaw, pitch or roll.
        moves: Whether stick and vehicle move enough to tune on.
        stick: Standard deviation of the stick, -1..1.
        motion: Range of the position [m] or angle [rad].
    """

    name: str
    moves: bool
    stick: float
    motion: float


def preview(record: Record) -> list[Preview]:
    """Returns how much each axis of a record with motion moves."""
    axes = [axis_of(record.each_step(), k) for k in range(len(AXES))]
    return [
        Preview(axis.name, moves(axis), float(axis.stick.std()), float(np.ptp(axis.measured)))
        for axis in axes
    ]


def split(record: Record, held_out: float) -> tuple[Record, Record | None]:
    """Splits off the last fraction of a record, which is not tuned on."""
    if held_out == 0.0:
        return record.each_step(), None
    end = record.t_s[-1] * (1.0 - held_out)
    return record.between(0.0, end).each_step(), record.between(end, np.inf).each_step()


def tune(
    record: Record,
    axes: Sequence[int],
    method: str = "de",
    *,
    extended: bool = True,
    held_out: float = 0.3,
    generations: int = GENERATIONS,
    seed: int = 1,
    watch: Callable[[str, int, float], object] = lambda axis, more, best: None,
) -> list[Tuned]:
    """Tunes axes of a record, two at a time.

    Args:
        record: Sticks and motion.
        axes: HEIGHT, YAW, PITCH, ROLL, any of them.
        method: A name of search.METHODS.
        extended: Whether the link may be late and the vehicle lean against a wind; else the
            published four numbers an axis.
        held_out: Fraction of the record, at its end, to evaluate on.
        generations: Number of generations of the search.
        seed: The same seed gives the same result.
        watch: Called with an axis, its generations since the last call, and its smallest J.

    Raises:
        TuneError: An unknown method, or no axis moves.
    """
    if method not in METHODS:
        raise TuneError(unknown_name("method", method, METHODS))
    first, last = split(record, held_out)
    work = [(axis_of(first, k), None if last is None else axis_of(last, k)) for k in axes]
    if not any(moves(axis) for axis, _ in work):
        names = ", ".join(axis.name for axis, _ in work)
        raise TuneError(
            f"no axis of {names} moves with its stick in the part to tune on: give "
            "another log or stretch, --from and --to"
        )

    def one(pair: tuple[Axis, Axis | None]) -> Tuned:
        axis, rest = pair
        if not moves(axis):
            watch(axis.name, generations, np.nan)
            return Tuned(axis.name, False, np.full(7, np.nan))
        done = [0]

        def count(more: int, best: float) -> None:
            more = min(more, generations - done[0])
            done[0] += more
            watch(axis.name, more, best)

        best = METHODS[method](
            axis.costs,
            bounds(axis, extended),
            np.random.default_rng([seed, axis.index]),
            generations,
            count,
        )
        fitted = part(axis, best)
        count(generations, fitted.cost)
        return Tuned(axis.name, True, best, fitted, None if rest is None else part(rest, best))

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, work))


def part(axis: Axis, candidate: np.ndarray) -> Part:
    """Evaluates a candidate (7,) on an axis."""
    return Part(
        float(axis.costs(candidate[:, None])[0]),
        axis.nothing(),
        axis.spread(),
        axis.measured,
        axis.flown(candidate),
    )


def together(record: Record, tuned: Sequence[Tuned]) -> np.ndarray:
    """Returns J (4,) of the whole simulator, whose axes act on each other.

    It is NaN for an axis that was not tuned, whose gains are those of Table 2.
    """
    steps = record.each_step()
    assert steps.motion is not None
    gains, lean = TABLE_2.copy(), np.zeros((len(steps.t_s), 2))
    sticks, cost = steps.sticks.copy(), np.full(4, np.nan)
    moving = {AXES.index(one.name): one for one in tuned if one.moves}
    for index, one in moving.items():
        axis = axis_of(steps, index)
        gains[index] = one.gains
        delay = round(one.candidate[4] / STEP_S)
        sticks[:, index] = axis.stick[PAD - delay : len(axis.stick) - delay]
        if axis.leans:
            lean[:, index - PITCH] = one.candidate[5:] @ axis.wind
    start = np.zeros(12)
    start[[*PLACES]] = steps.motion[0]
    flown = simulate(sticks, gains, start=tuple(start), lean=lean).axes
    for index in moving:
        cost[index] = ((flown[:, index] - steps.motion[:, index]) ** 2).sum() * STEP_S
    return cost


def delay_of(tuned: Sequence[Tuned]) -> float:
    """Returns one delay for the whole link: the mean of the axes that move [s]."""
    delays = [one.candidate[4] for one in tuned if one.moves]
    return float(np.mean(delays)) if delays else 0.0
