"""Sticks of a page to MANUAL_CONTROL, what happens when they stop, and how late they are.

A page sends its sticks as often as it reads them. The link sends each at once, so that the flight
stack has the newest one in its next step of 4 ms. If a page that is still open stops, its sticks
are late; centred ones can be sent in their place for some seconds. Then they are lost. If this
server is gone as well, the vehicle notices the loss itself (COM_RC_LOSS_T, NAV_RCL_ACT).
"""

import math
import struct
import time
from collections import deque

import numpy as np

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.runs.ports import system_id

from ..errors import WebError
from .fleet import FleetLink

# Kind 1, vehicle, roll, pitch, yaw (right, forward, clockwise positive, -1 to 1), throttle 0 to 1,
# and when they were read, on the clock that pong() gives [s].
PACKET = struct.Struct("<BxH4fd")
KIND = 1
LATE_S, LOST_S = 0.4, 3.0  # time without sticks after which they are late, and lost [s]
_CENTRED_THROTTLE = 500
_KEPT_S = 5.0  # time for which latencies are kept [s]
_MAX_MS = 1000.0  # latencies beyond are those of a clock that is not known yet


class Sticks:
    """The sticks of all pages.

    Attributes:
        flown: Times of the last sticks [s], by vehicle.
    """

    def __init__(self, link: FleetLink):
        """Takes the link over which sticks are sent."""
        self._link = link
        self.flown: dict[int, float] = {}
        self._open: deque[tuple[float, float]] = deque(maxlen=1000)  # read, sent [s]
        self._latencies: deque[tuple[float, float]] = deque(maxlen=2000)  # now [s], latency [ms]

    def take(self, data: bytes) -> int:
        """Sends the sticks of a packet; returns the vehicle.

        Raises:
            WebError: It is no such packet.
        """
        if len(data) != PACKET.size or data[0] != KIND:
            raise WebError(f"a packet of sticks has {PACKET.size} bytes and begins with {KIND}")
        _, i, *axes, read_s = PACKET.unpack(data)
        if not (
            i < self._link.n
            and all(math.isfinite(x) and abs(x) <= 1.001 for x in axes)
            and math.isfinite(read_s)
        ):
            raise WebError(
                "sticks are a vehicle's number, three axes from -1 to 1 and a throttle from 0 to 1"
            )
        roll, pitch, yaw, throttle = (round(1000 * max(-1.0, min(1.0, x))) for x in axes)
        self._send(i, pitch, roll, max(throttle, 0), yaw)
        now = time.monotonic()
        self.flown[i] = now
        self._open.append((read_s, now))
        return i

    def late(self) -> list[int]:
        """Returns vehicles whose sticks have stopped, but not for so long that they are lost."""
        now = time.monotonic()
        return [i for i, t in self.flown.items() if LATE_S < now - t <= LOST_S]

    def lost(self) -> list[int]:
        """Returns vehicles whose sticks are lost, and forgets them."""
        now = time.monotonic()
        return self.forget([i for i, t in self.flown.items() if now - t > LOST_S])

    def forget(self, vehicles: list[int]) -> list[int]:
        """Counts these vehicles as no longer flown by sticks, and returns them."""
        for i in vehicles:
            del self.flown[i]
        return vehicles

    def centre(self, i: int) -> None:
        """Sends centred sticks to a vehicle."""
        self._send(i, 0, 0, _CENTRED_THROTTLE, 0)

    def _send(self, i: int, pitch: int, roll: int, throttle: int, yaw: int) -> None:
        self._link.send(
            i, mavlink.MAVLink_manual_control_message(system_id(i), pitch, roll, throttle, yaw, 0)
        )

    def stepped(self, steps: np.ndarray) -> None:
        """Takes the steps' times, (K, 2): end and processor time [s]; the latest last.

        A stick counts in the first step that began after it was sent. The step's end is when its
        actuator command is in force.
        """
        ends = steps[:, 0]
        begins = ends - steps[:, 1]
        while self._open and self._open[0][1] <= begins[-1]:
            read_s, sent_s = self._open.popleft()
            if sent_s < begins[0]:  # older than what is known of the steps
                continue
            late = 1e3 * (ends[int(np.searchsorted(begins, sent_s))] - read_s)
            if 0.0 <= late <= _MAX_MS:
                self._latencies.append((sent_s, float(late)))

    def latency(self) -> tuple[float, float, float, float]:
        """Returns newest, median and 99th percentile [ms] of the last seconds, and their number."""
        since = time.monotonic() - _KEPT_S
        while self._latencies and self._latencies[0][0] < since:
            self._latencies.popleft()
        if not self._latencies:
            return math.nan, math.nan, math.nan, 0.0
        values = np.array([late for _, late in self._latencies])
        return (
            float(values[-1]),
            float(np.median(values)),
            float(np.percentile(values, 99)),
            float(len(values)),
        )
