"""Offset between the clocks of a vehicle and of the bridge, from TIMESYNC, as MAVROS finds it."""

import math

PERIOD_US = 100_000  # between two requests [us]
_WINDOW = 500  # answers until the filter has converged
_ALPHA, _BETA = (0.05, 0.003), (0.05, 0.003)  # gains at first and in the end
_LONGEST_NS = 30_000_000  # a longer round trip is not used; one tick of a simulation is [ns]
_FARTHEST_NS, _MAX_FAR = 100_000_000, 5  # from the estimate [ns]; so many in a row: a new start


class Timesync:
    """Answers to our requests, and a filter with the gains of MAVROS's.

    Attributes:
        fresh: Whether the last message was an answer.
        remote_ns: The vehicle's time in it [ns].
        observed_ns: Its offset: our time less the vehicle's [ns].
        estimated_ns: The filtered offset [ns].
        round_trip_ns: From the request to the answer [ns].
        answers: How many there were.
        round_trips_ns: Sum of all round trips [ns].
    """

    def __init__(self) -> None:
        self.fresh = False
        self.remote_ns = self.observed_ns = self.round_trip_ns = 0
        self.answers = self.round_trips_ns = 0
        self._reset()

    def _reset(self) -> None:
        self.estimated_ns, self._skew, self._samples, self._far = 0.0, 0.0, 0, 0

    def take(self, remote_ns: int, sent_ns: int, now_ns: int) -> None:
        """Takes an answer: the vehicle's time, and ours of request and answer [ns]."""
        self.remote_ns, self.round_trip_ns = remote_ns, now_ns - sent_ns
        self.observed_ns = (sent_ns + now_ns) // 2 - remote_ns
        self.answers += 1
        self.round_trips_ns += self.round_trip_ns
        if self.round_trip_ns >= _LONGEST_NS:
            return
        if self._samples >= _WINDOW and abs(self.observed_ns - self.estimated_ns) > _FARTHEST_NS:
            self._far += 1
            if self._far > _MAX_FAR:  # the vehicle's clock has jumped
                self._reset()
            return
        self._filter()

    def _filter(self) -> None:
        """Double exponential smoothing, whose gains fall while it converges."""
        late = 1.0
        if self._samples < _WINDOW:
            late = 1.0 - math.exp(0.5 * (1.0 - 1.0 / (1.0 - self._samples / _WINDOW)))
        alpha, beta = (late * last + (1.0 - late) * first for first, last in (_ALPHA, _BETA))
        before = self.estimated_ns
        if self._samples == 0:
            self.estimated_ns = float(self.observed_ns)
        else:
            self.estimated_ns = alpha * self.observed_ns + (1.0 - alpha) * (before + self._skew)
            self._skew = beta * (self.estimated_ns - before) + (1.0 - beta) * self._skew
        self._samples += 1
        self._far = 0
