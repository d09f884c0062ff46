"""Asking a planner that anyone may have written: its errors and its silence are no plan."""

import contextlib
import queue
import threading
import time
import weakref
from typing import NamedTuple

import numpy as np

from .planner import Plan, Planner, Situation, Trajectory

_TICK_S = 1.0  # between two looks at a planner's clock [s]
_ASLEEP = 1e-3  # a thread that works for a smaller part of the time sleeps
_APART = 0.5  # a trajectory begins so near to where it was asked for [m]
_HARDEST = 2.5  # a trajectory accelerates at most so many times as much as is allowed


class Answer(NamedTuple):
    """What a planner has answered."""

    plan: Plan
    processor_ms: float  # of its thread


class Asker:
    """Asks a planner in a thread of its own, so that a flight goes on without one that hangs.

    Simulated time stands while it plans: what is flown depends on the plans alone, and not on how
    busy the machine is. A planner that has worked or slept for `longest_s` is not asked again; time
    in which it wanted to work, and other programs did, does not count. The thread ends with the
    last reference to its Asker, so that it keeps no map of a flight that is over.
    """

    def __init__(self, planner: Planner, longest_s: float) -> None:
        """Asks nothing yet.

        Args:
            planner: What plans.
            longest_s: Time of work or sleep after which a plan is not waited for any more [s].
        """
        self._planner, self._longest_s = planner, longest_s
        self._asked: queue.SimpleQueue[Situation | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._hangs = False

    def plan(self, situation: Situation) -> Answer:
        """Returns the planner's plan; one without a trajectory if it fails or hangs."""
        if self._hangs:
            return Answer(self._silence(), 0.0)
        if self._thread is None:  # one that hangs must not keep the program from its end
            queues = self._asked, self._answers
            self._thread = threading.Thread(
                target=_answer, args=(self._planner, *queues), name="planner", daemon=True
            )
            self._thread.start()
            weakref.finalize(self, self._asked.put, None)
        self._asked.put(situation)
        slept, tick = 0.0, min(_TICK_S, 0.1 * self._longest_s)
        begun = worked = self._worked()
        while slept + worked - begun < self._longest_s:
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=tick)
            before, worked = worked, self._worked()
            slept += tick if worked - before < _ASLEEP * tick else 0.0
        self._hangs = True
        return Answer(self._silence(), 1e3 * (worked - begun))

    def _worked(self) -> float:
        """Returns the processor time of the thread [s]."""
        assert self._thread is not None
        assert self._thread.ident is not None
        return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident))

    def _silence(self) -> Plan:
        return Plan(None, reason=f"the planner hangs: no answer in {self._longest_s:g} s")


def _answer(
    planner: Planner, asked: queue.SimpleQueue[Situation | None], answers: queue.SimpleQueue[Answer]
) -> None:
    """Answers each situation until None comes."""
    while (situation := asked.get()) is not None:
        begun = time.thread_time()
        plan = _planned(planner, situation)
        answers.put(Answer(plan, 1e3 * (time.thread_time() - begun)))
        del situation, plan  # they hold the map, and may be the last that do


def _planned(planner: Planner, situation: Situation) -> Plan:
    try:
        plan = planner.plan(situation)
    except BaseException as error:  # of a planner that anyone may have written
        what = str(error).splitlines()[0] if str(error) else ""
        return Plan(None, reason=f"the planner failed: {type(error).__name__} {what}".strip())
    return Plan(None, reason=fault) if (fault := _fault(plan, situation)) else plan


def _fault(plan: object, situation: Situation) -> str:
    """Returns in words what is wrong with what a planner has returned, or ""."""
    if not isinstance(plan, Plan):
        return f"the planner returned {type(plan).__name__}, no Plan"
    trajectory = plan.trajectory
    if trajectory is None:
        return "" if plan.reason else "the planner gave no trajectory and no reason"
    if not isinstance(trajectory, Trajectory):
        return f"the planner's trajectory is {type(trajectory).__name__}, no Trajectory"
    parts = (trajectory.pos, trajectory.vel, trajectory.acc)
    if not all(
        isinstance(part, np.ndarray)
        and part.shape == (len(trajectory.pos), 3)
        and part.dtype == float
        for part in parts
    ) or not len(trajectory.pos):
        return "the planner's trajectory has no pos, vel and acc of the shape (K, 3)"
    if not all(np.isfinite(part).all() for part in parts):
        return "the planner's trajectory has numbers that are not finite"
    off = float(np.linalg.norm(trajectory.pos[0] - situation.pos))
    if off > _APART:
        return f"the planner's trajectory begins {off:.1f} m from where the vehicle is"
    if trajectory.begun_us != situation.t_us:
        return "the planner's trajectory does not begin now: give situation.t_us"
    allowed = situation.limits.acceleration
    hardest = float(np.sqrt((trajectory.acc**2).sum(axis=1).max()))
    if hardest > _HARDEST * allowed:
        return (
            f"the planner's trajectory accelerates by {hardest:.1f} m/s^2, where {allowed:g} is "
            "allowed"
        )
    return ""
