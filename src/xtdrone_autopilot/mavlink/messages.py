"""Dispatch of incoming MAVLink messages to the methods that are marked with their names.

Only messages addressed to this vehicle are handled, and only those whose fields are in range; see
fields.py. A handler that fails costs its message and a line in the log. What has no handler and may
be expected to do something is refused once, with a reason; see not_taken.py. The handlers are in
commands.py, set_points.py, parameter_protocol.py, mission_protocol.py, files/ and
description/answers.py; a new message is one marked method in one of them.
"""

from collections.abc import Callable, Iterable

import numpy as np

from xtdrone_core.errors import failure
from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink

from ..parameters.store import ParameterStore
from ..safety.failures import DATA_LINK, Failures
from ..state.clock import StepClock
from ..state.handlers import declared, receives
from ..state.outbox import INFO, WARNING, Outbox
from ..state.vehicle_status import station_away
from .fields import fault
from .links import Link, Links
from .not_taken import NOT_TAKEN


class Messages:
    """Hands the messages of a fleet to their handlers.

    Attributes:
        handlers: Name of a message -> the method that handles it.
    """

    def __init__(
        self,
        outbox: Outbox,
        *parts: object,
        each_tick: Iterable[Callable[[], None]] = (),
        each_check: Iterable[Callable[[], None]] = (),
    ) -> None:
        """The messages of a fleet.

        Args:
            outbox: For what is said of messages that are refused, or whose handler fails.
            *parts: Objects whose methods are marked with the messages that they receive or refuse.
            each_tick: Called with each tick of the streams.
            each_check: Called ten times a second.
        """
        self._outbox = outbox
        self._each_tick, self._each_check = each_tick, each_check
        self.handlers, self._refusals = (
            {name: method for part in parts for name, method in declared(part, mark)}
            for mark in ("receives", "refuses")
        )

    @property
    def names(self) -> list[str]:
        """Names of the messages that have a handler."""
        return sorted(self.handlers)

    def handle(self, link: Link, message: MavlinkMessage) -> None:
        """Handles one message that came in on a link, if it is meant for its vehicle."""
        if getattr(message, "target_system", 0) not in (0, link.system):
            return
        if getattr(message, "target_component", 0) not in (0, 1):
            return
        handler = self.handlers.get(message.get_type())
        if handler is None:
            why = NOT_TAKEN.get(message.get_type())
            if why:
                self._refuse(link, message, why)
            return
        try:
            why = fault(message)
            if why:
                self._refusals.get(message.get_type(), self._refuse)(link, message, why)
            else:
                handler(link, message)
        except Exception as error:  # one message of one vehicle failed: the fleet flies on
            self._outbox.say(link.vehicle, WARNING, failure(message.get_type(), error))

    def _refuse(self, link: Link, message: MavlinkMessage, why: str) -> None:
        self._outbox.say_once(link.vehicle, f"{message.get_type()} ignored: {why}")

    def tick(self) -> None:
        """Goes on with what takes time; call it every tick of the streams."""
        for go_on in self._each_tick:
            go_on()

    def check(self) -> None:
        """Repeats lost requests; call it at 10 Hz."""
        for repeat in self._each_check:
            repeat()


_LONGEST_TRIP_NS = 10_000_000  # later answers to TIMESYNC do not count, as in PX4
_JUMP_US = 100_000  # an offset that differs by more is a clock that was set
_WEIGHT = 0.05  # weight of the newest offset


def _smoothed(before: float | None, offset: float) -> float:
    """The offset between two clocks, low-passed [us]; before is None for the first."""
    if before is None or abs(offset - before) > _JUMP_US:
        return offset
    return before + _WEIGHT * (offset - before)


class Presence:
    """Heartbeats of ground stations, time synchronisation and pings."""

    def __init__(
        self,
        status: np.ndarray,
        parameters: ParameterStore,
        failures: Failures,
        clock: StepClock,
        outbox: Outbox,
        links: Links,
    ) -> None:
        """status: (N,) of VEHICLE_STATUS."""
        self._status, self._parameters, self._failures = status, parameters, failures
        self._clock, self._outbox, self._links = clock, outbox, links
        self._with_station = np.zeros(len(status), dtype=bool)
        self._met_station = np.zeros(len(status), dtype=bool)  # so far

    def step(self) -> None:
        """Says where a ground station was lost or is back; call it at 10 Hz."""
        away = station_away(self._status, self._clock.t_us)
        there = away <= self._parameters.values["COM_DL_LOSS_T"]
        self._met_station &= self._status["gcs_t"] >= 0  # none yet of a vehicle that was reset
        for i in np.flatnonzero(there != self._with_station):
            if self._met_station[i]:
                self._outbox.say(
                    i,
                    INFO,
                    "GCS connection regained\t"
                    if there[i]
                    else "Connection to ground station lost\t",
                )
        self._met_station |= there
        self._with_station = there

    @receives("HEARTBEAT")
    def _heartbeat(self, link: Link, message: MavlinkMessage) -> None:
        silenced = self._failures.failed(link.vehicle, DATA_LINK)
        if message.type == mavlink.MAV_TYPE_GCS and not silenced:
            self._status[link.vehicle]["gcs_t"] = self._clock.t_us
            self._links.hear_station(link, self._clock.t_us)

    @receives("TIMESYNC")
    def _timesync(self, link: Link, message: MavlinkMessage) -> None:
        now_ns = self._clock.t_us * 1000
        if message.tc1 == 0:
            self._links.reply(link, mavlink.MAVLink_timesync_message(now_ns, message.ts1))
        elif 0 <= now_ns - message.ts1 <= _LONGEST_TRIP_NS:
            offset = ((message.ts1 + now_ns) / 2 - message.tc1) * 1e-3
            link.clock_us = _smoothed(link.clock_us, offset)

    @receives("PING")
    def _ping(self, link: Link, message: MavlinkMessage) -> None:
        if message.target_system == 0:
            self._links.reply(
                link,
                mavlink.MAVLink_ping_message(
                    self._clock.t_us,
                    message.seq,
                    message.get_srcSystem(),
                    message.get_srcComponent(),
                ),
            )
