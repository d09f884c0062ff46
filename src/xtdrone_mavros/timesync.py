"""Offset between the clocks of a vehicle and the bridge, estimated from TIMESYNC as by MAVROS."""

import math

PERIOD_US = 100_000  # between two requests [us]
_WINDOW = 500  # answers until the filter has converged
_ALPHA, _BETA = (0.05, 0.003), (0.05, 0.003)  # initial and final gains
_MAX_ROUND_TRIP_NS = 30_000_000  # a longer round trip is not used; a tick of a simulation is [ns]
_MAX_DEVIATION_NS = 100_000_000  # largest deviation from the estimate [ns]
_MAX_DEVIATIONS = 5  # more in a row reset the filter


class Timesync:
    """Answers to TIMESYNC requests, and a filter with MAVROS's gains.

    Attributes:
        fresh: Whether the last message was an answer.
        remote_ns: Vehicle's time in the last answer [ns].
        observed_ns: Offset of the last answer: our time minus the vehicle's [ns].
        estimated_ns: Filtered offset [ns].
        round_trip_ns: Time from the last request to its answer [ns].
        answers: Number of answers so far.
        round_trips_ns: Sum of all round trips [ns].
    """

    def __init__(self) -> None:
        self.fresh = False
        self.remote_ns = self.observed_ns = self.round_trip_ns = 0
        self.answers = self.round_trips_ns = 0
        self._reset()

    def _reset(self) -> None:
        self.estimated_ns, self._skew, self._samples, self._deviations = 0.0, 0.0, 0, 0

    def take(self, remote_ns: int, sent_ns: int, now_ns: int) -> None:
        """Takes an answer: the vehicle's time, and ours of request and answer [ns]."""
        self.remote_ns, self.round_trip_ns = remote_ns, now_ns - sent_ns
        self.observed_ns = (sent_ns + now_ns) // 2 - remote_ns
        self.answers += 1
        self.round_trips_ns += self.round_trip_ns
        if self.round_trip_ns >= _MAX_ROUND_TRIP_NS:
            return
        if (
            self._samples >= _WINDOW
            and abs(self.observed_ns - self.estimated_ns) > _MAX_DEVIATION_NS
        ):
            self._deviations += 1
            if self._deviations > _MAX_DEVIATIONS:  # the vehicle's clock has jumped
                self._reset()
            return
        self._filter()

    def _filter(self) -> None:
        """Applies double exponential smoothing, with gains that fall while it converges."""
        weight = 1.0
        if self._samples < _WINDOW:
            weight = 1.0 - math.exp(0.5 * (1.0 - 1.0 / (1.0 - self._samples / _WINDOW)))
        alpha, beta = (weight * last + (1.0 - weight) * first for first, last in (_ALPHA, _BETA))
        before = self.estimated_ns
        if self._samples == 0:
            self.estimated_ns = float(self.observed_ns)
        else:
            self.estimated_ns = alpha * self.observed_ns + (1.0 - alpha) * (before + self._skew)
            self._skew = beta * (self.estimated_ns - before) + (1.0 - beta) * self._skew
        self._samples += 1
        self._deviations = 0
