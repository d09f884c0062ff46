"""An Agent that commands formations to leader and followers in other processes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .declarations import DEFAULT_FORMATIONS
from .flight import FormationFlight


class Director(FormationFlight):
    """Commands formations to leader and followers in other processes, takes off and lands.

    It controls the vehicles only during climb and descent; between, the receivers of its commands
    do. In addition to the events of FormationFlight: `return`.
    """

    def __init__(
        self,
        n: int,
        formations: Sequence[str] = DEFAULT_FORMATIONS,
        send_command: Callable[[str], object] = lambda command: None,
        **options: Any,  # those of FormationFlight, each of its own type
    ) -> None:
        """Makes a director without a pattern; see on_pattern().

        Args:
            n: Number of vehicles, the leader included.
            formations: Formations in order.
            send_command: Called with each command (a string) for the leader.
            **options: Arguments of FormationFlight.

        Raises:
            FormationError: A formation is unknown or does not fit n vehicles.
        """
        super().__init__(n, formations, **options)
        self._send_command = send_command
        self._pattern: np.ndarray | None = None
        self._moved_us = 0  # time at which the pattern last changed

    def on_pattern(self, t_us: int, pattern: np.ndarray) -> None:
        """Takes the pattern (N - 1, 3) that the leader publishes [m]."""
        if self._pattern is None or not np.array_equal(pattern, self._pattern):
            self._pattern, self._moved_us = pattern.copy(), t_us

    def command(self, t_us: int, name: str, slots: np.ndarray) -> None:
        """Sends the name of the formation."""
        self._send_command(name)
        self._moved_us = t_us

    def go_back(self, t_us: int) -> None:
        """Commands the initial formation, which the leader has stored."""
        self._send_command("waiting")
        self._moved_us = t_us
        self.event(t_us, "return")

    def leave(self, t_us: int) -> None:
        """Releases the followers; from here on the director controls all vehicles."""
        self._send_command("stop controlling")

    def errors(self, t_us: int, pos: np.ndarray) -> np.ndarray:
        """Returns slot errors by the estimated positions, once the pattern is at rest."""
        if self._pattern is None or t_us - self._moved_us < 500_000:
            return np.full(self.n - 1, np.inf)
        return np.linalg.norm(pos[1:] - pos[0] - self._pattern, axis=1)
