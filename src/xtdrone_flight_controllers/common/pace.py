"""Real time, for flight stacks that have a clock of their own and cannot wait."""

import logging
import time
from collections.abc import Callable

LATE_S = 0.25  # behind real time that is not made good any more [s]
_WARNING = 4  # MAV_SEVERITY
_log = logging.getLogger(__name__)


class RealTime:
    """Holds simulated time to the wall clock."""

    def __init__(
        self, listen: Callable[[float], None], on_text: Callable[[int, int, str], None], whose: str
    ):
        """Args:
        listen: Waits for at most so many seconds [s] and handles what comes meanwhile.
        on_text: Called with (vehicle, severity, text), once, when the simulation falls behind.
        whose: The clock's owner and "does" or "do", for that text.
        """
        self._listen, self._on_text, self._whose = listen, on_text, whose
        self._told = False
        self._begin: float | None = None  # wall time of simulated time 0

    def restart(self) -> None:
        """The next wait() begins anew: nothing was lost meanwhile."""
        self._begin = None

    def wait(self, t_us: int) -> None:
        """Waits until a simulated time is due [us]; what is more than LATE_S late is given up."""
        t, now = t_us * 1e-6, time.monotonic()
        if self._begin is None:
            self._begin = now - t
        late = now - self._begin - t
        if late > LATE_S:
            self._begin = now - t
            self._tell(late)
        self._listen(0.0)
        while (left := self._begin + t - time.monotonic()) > 0.0:
            self._listen(left)

    def _tell(self, late):
        if not self._told:
            self._told = True
            text = (
                f"the simulation is {late:.2f} s behind real time, which {self._whose} not "
                "wait for: it was paused, or the machine is too busy"
            )
            self._on_text(0, _WARNING, text)
            _log.warning("%s", text)
