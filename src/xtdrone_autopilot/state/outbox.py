"""Unsolicited output of vehicles: STATUSTEXTs for users, events and mode changes for clients."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_core.runs.snapshot import Memory

from .clock import StepClock
from .events import Arguments, Events

INFO, NOTICE, WARNING, CRITICAL = (
    mavlink.MAV_SEVERITY_INFO,
    mavlink.MAV_SEVERITY_NOTICE,
    mavlink.MAV_SEVERITY_WARNING,
    mavlink.MAV_SEVERITY_CRITICAL,
)
TEXT_CHUNK = 50  # characters of one STATUSTEXT
WARNINGS_PER_SECOND = 20  # most of one vehicle; limits the load of links and logs


class TextLog(Protocol):
    """Records texts, as a flight log does."""

    def text(self, i: int, t_us: int, severity: int, text: str) -> None:
        """Records a text of vehicle i."""


class Broadcasting(Protocol):
    """Sends messages of vehicles to their peers, as mavlink.links.Links does."""

    def broadcast(self, i: int, message: MavlinkMessage) -> None:
        """Sends a message on every link of vehicle i that has a peer."""

    def broadcast_text(self, i: int, messages: list[MavlinkMessage], t_us: int) -> None:
        """Sends the chunks of a STATUSTEXT of vehicle i."""

    def broadcast_stream(self, i: int, name: str, t_us: int) -> None:
        """Sends one message of the streams at once."""

    def hurry(self, i: int, name: str, t_us: int) -> None:
        """Sends one message of the streams at the next tick."""


class Outbox(Memory):
    """Sends STATUSTEXTs and messages of a fleet to log, links and callback.

    Attributes:
        on_text: Called with (vehicle, severity, text), or None.
        log: A FleetLog that records the texts, or None.
        links: The Links that messages go out on, or None.
        events: PX4's events, which go out with their texts.
    """

    MEMORY = ("_warnings", "_said_once", "events")

    def __init__(
        self, n: int, clock: StepClock, on_text: Callable[[int, int, str], None] | None = None
    ) -> None:
        """An outbox of n vehicles without log or links."""
        self._clock = clock
        self.on_text = on_text
        self.log: TextLog | None = None
        self.links: Broadcasting | None = None
        self._text_id = 0
        self._warnings = np.zeros((n, 2), dtype=np.int64)  # the second, and how many came in it
        self._said_once: set[tuple[int, str]] = set()
        self.events = Events(n)
        self.remember_start()

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Clears the history of messages of these vehicles."""
        super().reset(mask)
        gone = range(len(self._warnings)) if mask is None else np.flatnonzero(mask).tolist()
        self._said_once = {(i, text) for i, text in self._said_once if i not in gone}

    def say(self, i: int, severity: int, text: str, event: Arguments = ()) -> None:
        """Sends a STATUSTEXT from vehicle i, in chunks if it is long; warnings in limited number.

        Args:
            i: The vehicle.
            severity: A MAV_SEVERITY; WARNINGs beyond WARNINGS_PER_SECOND are left out.
            text: With a tab at its end it is also an event, a row of EVENTS.
            event: Its name and arguments, where they do not follow from the text.
        """
        if severity == WARNING:
            second = self._clock.t_us // 1_000_000
            count = self._warnings[i, 1] + 1 if self._warnings[i, 0] == second else 1
            self._warnings[i] = second, count
            if count > WARNINGS_PER_SECOND:
                return
        if self.on_text is not None:
            self.on_text(i, severity, text.rstrip("\t"))
        if self.log is not None:
            self.log.text(i, self._clock.t_us, severity, text)
        if self.links is None:
            return
        if text.endswith("\t"):
            message = self.events.of_text(i, text.rstrip("\t"), event, self._clock.t_us)
            if message is not None:
                self.links.broadcast(i, message)
        data = text.encode("ascii", "replace")
        self._text_id = self._text_id % 65535 + 1
        chunks = [data[k : k + TEXT_CHUNK] for k in range(0, len(data), TEXT_CHUNK)]
        self.links.broadcast_text(
            i,
            [
                mavlink.MAVLink_statustext_message(
                    severity, chunk, self._text_id if len(chunks) > 1 else 0, k
                )
                for k, chunk in enumerate(chunks)
            ],
            self._clock.t_us,
        )

    def tell(self, i: int, name: str, *arguments: Any) -> None:  # see Arguments
        """Sends an event of vehicle i that has no text: a row of EVENTS."""
        if self.links is not None:
            self.links.broadcast(i, self.events.named(i, name, arguments, self._clock.t_us))

    def send_events(self, i: int, events: Iterable[tuple[int, int, bytes]]) -> None:
        """Sends events of vehicle i: number, levels, and arguments as they are sent."""
        if self.links is not None:
            for event in events:
                self.links.broadcast(i, self.events.message(i, *event, self._clock.t_us))

    def say_once(self, i: int, text: str) -> None:
        """A warning that is sent only the first time."""
        if (i, text) not in self._said_once:
            self._said_once.add((i, text))
            self.say(i, WARNING, text)

    def forget_said(self) -> None:
        """Lets say_once() send its warnings again."""
        self._said_once.clear()

    def broadcast(self, i: int, message: MavlinkMessage) -> None:
        """Sends one message on every link of vehicle i that has a peer."""
        if self.links is not None:
            self.links.broadcast(i, message)

    def stream_now(self, i: int, name: str) -> None:
        """Sends one message of the streams at once, on every link of vehicle i that has a peer."""
        if self.links is not None:
            self.links.broadcast_stream(i, name, self._clock.t_us)

    def announce(self, i: int) -> None:
        """Announces a change of mode or arming of vehicle i to every client at the next tick."""
        if self.links is not None:
            self.links.hurry(i, "HEARTBEAT", self._clock.t_us)
