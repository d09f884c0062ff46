"""Real time, for flight stacks that have a clock of their own and cannot wait."""

import time
from collections.abc import Callable

LATE_S = 0.25  # behind real time that is not made good any more [s]


class RealTime:
    """Holds simulated time to the wall clock."""

    def __init__(self, listen: Callable[[float], None]):
        """listen: Waits for at most so many seconds [s] and handles what comes meanwhile."""
        self._listen = listen
        self._begin: float | None = None  # wall time of simulated time 0

    def restart(self) -> None:
        """The next wait() begins anew: nothing was lost meanwhile."""
        self._begin = None

    def wait(self, t_us: int) -> float:
        """Waits until a simulated time is due.

        Args:
            t_us: Simulated time [us].

        Returns:
            By how much it was too late, if that is given up [s]; else 0.
        """
        t, now = t_us * 1e-6, time.monotonic()
        if self._begin is None:
            self._begin = now - t
        late = now - self._begin - t
        if late > LATE_S:
            self._begin = now - t
        self._listen(0.0)
        while (left := self._begin + t - time.monotonic()) > 0.0:
            self._listen(left)
        return late if late > LATE_S else 0.0
