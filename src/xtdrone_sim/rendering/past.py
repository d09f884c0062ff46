"""The last states of a fleet, for sensors whose readings take time: the sweeps of lidars."""

from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from sensor_models.sensor import STEP_US
from xtdrone_core import FleetState
from xtdrone_core.state import ARRAYS_OF_STATE


class PlacedScene(Protocol):
    """A scene into which the fleet is put."""

    def place(
        self,
        state: FleetState,
        *inserted: Any,  # as RenderedScene.place() takes them
    ) -> None:
        """Puts everything where it is."""


class Past:
    """Keeps the states of the last moments, one a step.

    Attributes:
        wanted: Whether some sensor has a sweep.
    """

    def __init__(self, longest_us: int) -> None:
        """Keeps the states of so long [us]; 0 for none."""
        self.wanted = longest_us > 0
        self._states: deque[FleetState] = deque(maxlen=-(-longest_us // STEP_US) + 1)

    def keep(self, state: FleetState) -> None:
        """Takes the state of a step."""
        self._states.append(state.copy())

    def begin(self, after_us: int, *inserted: Any) -> "Sweep":
        """Returns what was after a time [us], now at least.

        `inserted` are the models of inserted_in().
        """
        states = [state for state in self._states if state.t_us > after_us]
        return Sweep(states or list(self._states)[-1:], inserted)

    def save(self) -> list[dict[str, Any]]:
        """Returns the states as plain data."""
        return [
            {"t_us": state.t_us, **{name: getattr(state, name) for name in ARRAYS_OF_STATE}}
            for state in self._states
        ]

    def load(self, saved: Sequence[dict[str, Any]]) -> None:
        """Restores what save() returned."""
        self._states.clear()
        self._states.extend(FleetState(**values) for values in saved)


class Sweep:
    """The states of the fleet during a reading."""

    def __init__(self, states: Sequence[FleetState], inserted: tuple[Any, ...]) -> None:
        """Takes the states in the order of time."""
        self._states, self._inserted = states, inserted
        self._times = np.array([state.t_us for state in states])
        self._placed = -1  # index of the state that the scene shows

    def place(
        self, scene: PlacedScene, t_us: int, body: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Shows the step after a time, or the first one that is known.

        Args:
            scene: What shows it.
            t_us: The time [us].
            body: Index of a vehicle, and of a body of it.

        Returns:
            Position (3,) [m] and attitude (4,) xyzw of the body at that time, between two steps.
        """
        after = min(int(np.searchsorted(self._times, t_us)), len(self._times) - 1)
        if after != self._placed:
            scene.place(self._states[after], *self._inserted)
            self._placed = after
        last, next_ = self._states[max(after - 1, 0)], self._states[after]
        span = next_.t_us - last.t_us
        share = min(max((t_us - last.t_us) / span, 0.0), 1.0) if span else 1.0
        pos = (1.0 - share) * last.body_pos[body] + share * next_.body_pos[body]
        ends = last.body_quat[body], next_.body_quat[body]
        quat = (1.0 - share) * ends[0] * np.copysign(1.0, ends[0] @ ends[1]) + share * ends[1]
        return pos, quat / np.linalg.norm(quat)
