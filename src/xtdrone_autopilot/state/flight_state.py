"""Mode and arming state of a fleet: unconditional changes, with callbacks."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from xtdrone_core.contracts import Snapshot
from xtdrone_core.modes import MODES, Mode, may_arm
from xtdrone_core.runs.snapshot import Memory, SnapshotError

from .clock import StepClock
from .outbox import INFO, Outbox
from .vehicle_status import NEW_MODE


class ModeTask:
    """Task of a flight mode beside its control law; a mode overrides the methods that it needs."""

    def why_not(self, i: int) -> str:
        """Why vehicle i cannot change to the mode or be armed in it, or an empty string."""
        return ""

    def begin(self, i: int) -> None:
        """Vehicle i enters the mode, or is armed in it."""

    def leave(self, i: int) -> None:
        """Vehicle i leaves the mode."""

    def reached(self, i: int) -> None:
        """Vehicle i has reached the target that the navigator watches for."""

    def transition_over(self, i: int) -> None:
        """Vehicle i, a VTOL, has ended a transition: it hovers or flies on its wings now."""


_NO_TASK = ModeTask()


class FlightState(Memory):
    """Changes mode and arming; the Commander checks whether they are allowed.

    Attributes:
        tasks: The task of each mode that has one.
        on_disarm: Called with each vehicle that is disarmed.
    """

    def __init__(self, status: np.ndarray, clock: StepClock, outbox: Outbox) -> None:
        """status: (N,) of VEHICLE_STATUS."""
        self._status, self._clock, self._outbox = status, clock, outbox
        self.tasks: dict[Mode, ModeTask] = {}
        self.on_disarm: list[Callable[[int], None]] = []

    def task(self, i: int) -> ModeTask:
        """The task of the mode of vehicle i."""
        return self.tasks.get(Mode(self._status["mode"][i]), _NO_TASK)

    def why_not(self, i: int, mode: Mode) -> str:
        """Why vehicle i cannot change to a mode, as its task says, or an empty string."""
        return self.tasks.get(mode, _NO_TASK).why_not(i)

    def save(self) -> dict[str, Any]:
        """Returns copies of the state of the tasks."""
        return {mode.name: task.save() for mode, task in self._tasks_with_state()}

    def load(self, snapshot: Snapshot) -> None:
        """Restores a state returned by save().

        Raises:
            SnapshotError: It lacks a mode, or belongs to another scenario.
        """
        for mode, task in self._tasks_with_state():
            if mode.name not in snapshot:
                raise SnapshotError(
                    f"the snapshot lacks flight mode {mode.name}: save it anew by this program"
                )
            task.load(snapshot[mode.name])

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets the tasks of these vehicles (mask (N,) bool, None for all)."""
        for _, task in self._tasks_with_state():
            task.reset(mask)

    def _tasks_with_state(self) -> Iterator[tuple[Mode, Memory]]:
        for mode, task in self.tasks.items():
            if isinstance(task, Memory):
                yield mode, task

    def enter(self, i: int, mode: Mode, failsafe: bool = False) -> None:
        """Changes the mode of vehicle i; the last one not of a failsafe is back once disarmed."""
        status = self._status[i]
        left = Mode(status["mode"])
        status["mode"], status["nav_state"] = mode, MODES[mode].nav_state
        if MODES[mode].arms and not failsafe:
            status["mode_disarmed"] = mode
        if left in self.tasks and left != mode:
            self.tasks[left].leave(i)
        status["mode_t"] = self._clock.t_us
        status["mode_stage"] = NEW_MODE
        status["descend"] = False
        self._outbox.announce(i)
        if mode in self.tasks:
            self.tasks[mode].begin(i)

    def show(self, i: int, nav_state: int) -> None:
        """Lets clients of vehicle i see its mode as one of its variants, or as itself again."""
        if self._status["nav_state"][i] != nav_state:
            self._status["nav_state"][i] = nav_state
            self._outbox.announce(i)

    def disarm(self, i: int, why: str = "internal command") -> None:
        """Stops the rotors of vehicle i, wherever it is."""
        status = self._status[i]
        if not status["armed"]:
            return
        status["armed"] = False
        status["landed"] = True
        status["failsafe"] = False
        for follow in self.on_disarm:
            follow(i)
        if status["mode"] != status["mode_disarmed"]:
            self.enter(i, Mode(status["mode_disarmed"]))
        elif not may_arm(status["nav_state"]):
            self.show(i, MODES[Mode(status["mode"])].nav_state)
        self._outbox.announce(i)
        self._outbox.say(i, INFO, f"Disarmed by {why}\t")
