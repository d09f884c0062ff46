"""Pacing against the wall clock: speed, pause and single steps of a simulation."""

import time
from collections import deque

MAX_LAG_S = 0.1  # a larger delay behind real time is not caught up [s]
LONGEST_SLEEP_S = 0.05  # so that a slow simulation answers all the same [s]
RECENT_S = 2.0  # wall time over which the factor of now is measured [s]


class Pacer:
    """Keeps simulated time at a multiple of wall time, and pauses it on request."""

    def __init__(self, speed: float):
        """speed: simulated seconds per wall second, 0 = as fast as possible."""
        self._speed = speed
        self._paused = False
        self._steps_left = 0  # single steps to take while paused
        self._end: float | None = None  # when stop() was called
        self.restart(0)

    @property
    def speed(self) -> float:
        """The factor in force."""
        return self._speed

    @property
    def paused(self) -> bool:
        """Whether a pause was requested."""
        return self._paused

    @property
    def holds(self) -> bool:
        """Whether the simulation must not step now."""
        return self._paused and self._steps_left == 0

    def restart(self, t_us: int) -> None:
        """Wall time counts from here, where simulated time is t_us."""
        self._begin, self._begin_us = time.monotonic(), t_us
        self._paused_s, self._end = 0.0, None
        self._marks: deque[tuple[float, int]] = deque(((0.0, t_us),))  # running time, simulated
        self.set_speed(self._speed, t_us)

    def stop(self) -> None:
        """Wall time ends here: what comes after the flight does not count."""
        if self._end is None:
            self._end = time.monotonic()

    def set_speed(self, speed: float, t_us: int) -> None:
        """A new factor from the simulated time t_us on."""
        self._speed, self._base, self._base_us = speed, time.monotonic(), t_us

    def pause(self, steps: int = 0) -> None:
        """Pauses after this number of steps."""
        self._paused, self._steps_left = True, steps

    def resume(self) -> None:
        """Goes on."""
        self._paused = False

    def stepped(self, t_us: int) -> None:
        """Called after each step, which ended at the simulated time t_us."""
        if self._steps_left:
            self._steps_left -= 1
        running = self._running()
        if running - self._marks[-1][0] >= 0.1 * RECENT_S:
            self._marks.append((running, t_us))
            while running - self._marks[1][0] >= RECENT_S:
                self._marks.popleft()

    def wait(self, t_us: int) -> bool:
        """Sleeps until the simulated time t_us is due, but no longer than LONGEST_SLEEP_S.

        Returns:
            Whether it is due now.
        """
        if self._speed == 0.0:
            return True
        left = self._base + (t_us - self._base_us) * 1e-6 / self._speed - time.monotonic()
        if left > 0:
            time.sleep(min(left, LONGEST_SLEEP_S))
        elif left < -MAX_LAG_S:
            self.set_speed(self._speed, t_us)
        return left <= LONGEST_SLEEP_S

    def held(self, seconds: float, t_us: int) -> None:
        """Excludes a pause of this length from wall time."""
        self._paused_s += seconds
        self.set_speed(self._speed, t_us)

    def factor(self, t_us: int) -> float:
        """Simulated over wall time since restart(), pauses left out."""
        return (t_us - self._begin_us) * 1e-6 / max(self._running(), 1e-9)

    def recent_factor(self, t_us: int) -> float:
        """The same over the last RECENT_S of wall time."""
        since, since_us = self._marks[0]
        return (t_us - since_us) * 1e-6 / max(self._running() - since, 1e-9)

    def _running(self) -> float:
        """Wall time since restart(), without pauses, to stop() [s]."""
        now = time.monotonic() if self._end is None else self._end
        return now - self._begin - self._paused_s
