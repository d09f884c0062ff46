"""Real time, for flight stacks that have a clock of their own and cannot wait."""

import logging
import time
from collections.abc import Callable

LATE_S = 0.25  # delay beyond which simulated time does not catch up with real time [s]
_WARNING = 4  # MAV_SEVERITY
_log = logging.getLogger(__name__)


class RealTime:
    """Holds simulated time to the wall clock."""

    def __init__(
        self, listen: Callable[[float], None], on_text: Callable[[int, int, str], None], clock: str
    ):
        """Args:
        listen: Waits for at most so many seconds [s] and handles what comes meanwhile.
        on_text: Called with (vehicle, severity, text), once, when the simulation falls behind.
        clock: The owner of the clock and "does" or "do", for that text.
        """
        self._listen, self._on_text, self._clock = listen, on_text, clock
        self._warned = False
        self._begin: float | None = None  # wall time of simulated time 0

    def restart(self) -> None:
        """Starts anew at the next wait(), without a delay."""
        self._begin = None

    def wait(self, t_us: int) -> None:
        """Waits until a simulated time [us] is due; a delay beyond LATE_S is not made good."""
        t, now = t_us * 1e-6, time.monotonic()
        if self._begin is None:
            self._begin = now - t
        late = now - self._begin - t
        if late > LATE_S:
            self._begin = now - t
            self._warn(late)
        self._listen(0.0)
        while (left := self._begin + t - time.monotonic()) > 0.0:
            self._listen(left)

    def _warn(self, late: float) -> None:
        if not self._warned:
            self._warned = True
            text = (
                f"the simulation is {late:.2f} s behind real time, which {self._clock} not "
                "wait for: it was paused, or the machine is too busy"
            )
            self._on_text(0, _WARNING, text)
            _log.warning("%s", text)
