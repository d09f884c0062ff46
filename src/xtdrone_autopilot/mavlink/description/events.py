"""PX4's events: what it tells a ground station by EVENT messages, beside texts for others.

A text that is an event as well ends in a tab, as PX4's do; ground stations that show events leave
such texts out. A new event is a row of EVENTS, with the name and the number that PX4 gives it:
`Outbox.say()` then sends it with its text. https://mavlink.io/en/services/events.html
"""

import re
import struct
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xtdrone_core.snapshot import Memory

from ..dialect import mavlink

_COMPONENT = 1 << 24  # the autopilot's, in the id of an event
_KEPT = 20  # events of one vehicle that can be requested again
_UNAVAILABLE = 0  # MAV_EVENT_ERROR_REASON
_INFO, _WARNING, _CRITICAL = 0x66, 0x64, 0x62  # levels: for users, and four bits for logs

# Enumerations of arguments: text -> number.
_REASONS = {"external command": 4, "mission start": 5, "landing": 6, "auto preflight disarming": 7,
            "kill-switch": 8, "failsafe": 14, "internal command": 3, "RC": 1}
_ACTIONS = {"warning": 1, "Position mode": 2, "Altitude mode": 3, "Stabilized mode": 4, "Hold": 5,
            "RTL": 6, "Land": 7, "Descend": 8, "disarm": 9, "terminate": 10}
_CAUSES = {"Manual control loss": 1, "GCS connection loss": 2,
           "Low battery level": 3, "Critical battery level": 4, "Emergency battery level": 5}
_MODES = {"Manual": 0, "Altitude": 1, "Position": 2, "Mission": 3, "Hold": 4, "Return": 5,
          "Acro": 6, "Offboard": 7, "Stabilized": 8, "Takeoff": 10, "Land": 11,
          "Follow Target": 12}
_ENUMS = {"navigation_mode_t": _MODES, "arm_disarm_reason_t": _REASONS,
          "failsafe_action_t": _ACTIONS, "failsafe_cause_t": _CAUSES}
_CODES = {"float": "f", "uint8_t": "B", "uint16_t": "H", "int32_t": "i", "uint32_t": "I"}


@dataclass(frozen=True)
class Event:
    """One of PX4's events.

    Attributes:
        name, number: PX4's; the number is a hash of the name.
        text: Pattern of the STATUSTEXT, its groups are the arguments; "" = given by name.
        message: For ground stations, with {1} for the first argument.
        levels: Of severity.
        arguments: Their types.
    """

    name: str
    number: int
    text: str
    message: str
    levels: int = _INFO
    arguments: tuple[str, ...] = ()

    def pack(self, values: Sequence[Any]) -> bytes:
        """The arguments as they are sent."""
        out = b""
        for kind, value in zip(self.arguments, values):
            if kind in _ENUMS:
                out += struct.pack("<B", _ENUMS[kind].get(value, 0))
            else:
                number = float(value)
                out += struct.pack(f"<{_CODES[kind]}", number if kind == "float" else int(number))
        return out


_NUMBER = r"(-?[\d.]+)"
EVENTS = (
    Event("commander_armed_by", 9489139, "Armed by (.*)", "Armed by {1}", _INFO,
          ("arm_disarm_reason_t",)),
    Event("commander_disarmed_by", 16017271, "Disarmed by (.*)", "Disarmed by {1}", _INFO,
          ("arm_disarm_reason_t",)),
    Event("commander_takeoff_detected", 4277609, "Takeoff detected", "Takeoff detected"),
    Event("commander_landing_detected", 9844908, "Landing detected", "Landing detected"),
    Event("commander_landing_current_pos", 3322590, "Landing at current position",
          "Landing at current position"),
    Event("commander_rtl", 3484900, "Returning to launch", "Returning to launch"),
    Event("commander_modeswitch_not_avail", 10503063, "",
          "Switching to mode '{2}' is currently not possible", _CRITICAL,
          ("uint32_t", "navigation_mode_t")),
    Event("commander_disarm_denied_not_landed", 9091509, "Disarming denied: not landed",
          "Disarming denied: not landed", _CRITICAL),
    Event("commander_arm_denied_resolve_failures", 133277,
          "Arming denied: Resolve system health failures first",
          "Arming denied: Resolve system health failures first", _CRITICAL),
    Event("commander_gcs_lost", 10794072, "Connection to ground station lost",
          "Connection to ground control station lost", _WARNING),
    Event("commander_dl_regained", 14234660, "GCS connection regained",
          "GCS connection regained"),
    Event("commander_failsafe_enter_hold", 13704694, "",
          "{4}: switching to {2} in {3} seconds", _CRITICAL,
          ("uint32_t", "failsafe_action_t", "uint16_t", "failsafe_cause_t")),
    Event("commander_failsafe_enter_generic_hold", 4502496, "",
          "Failsafe activated: switching to {2} in {3} seconds", _CRITICAL,
          ("uint32_t", "failsafe_action_t", "uint16_t")),
    Event("commander_failsafe_enter", 9751178, "", "{3}: switching to {2}", _CRITICAL,
          ("uint32_t", "failsafe_action_t", "failsafe_cause_t")),
    Event("commander_failsafe_enter_generic", 14605264, "",
          "Failsafe activated: Autopilot disengaged, switching to {2}", _CRITICAL,
          ("uint32_t", "failsafe_action_t")),
    Event("navigator_takeoff_default_alt", 3878855, f"Using default takeoff altitude: {_NUMBER} m",
          "Using default takeoff altitude: {1:.2m}", _INFO, ("float",)),
    Event("mission_execute", 15598001, "Executing Mission", "Executing Mission"),
    Event("mission_climb_before_start", 8208988, f"Climb to {_NUMBER} meters above home",
          "Climb to {1:.1m_v} above home", _INFO, ("float",)),
    Event("mission_finished", 7803396, "Mission finished, landed", "Mission finished, landed"),
    Event("mission_finished_loiter", 4678390, "Mission finished, loitering",
          "Mission finished, loitering"),
    Event("vrtl_return_at", 5383828,
          f"RTL: start return at {_NUMBER} m \\({_NUMBER} m above destination\\)",
          "RTL: start return at {1m_v} ({2m_v} above destination)", _INFO,
          ("int32_t", "int32_t")),
    Event("rtl_completed_loiter", 16725343, "RTL: completed, loitering",
          "RTL: completed, loitering"),
    Event("rtl_land_at_destination", 185258, "RTL: land at destination",
          "RTL: land at destination"),
)
_PATTERNS = [(re.compile(event.text), event) for event in EVENTS if event.text]
_BY_NAME = {event.name: event for event in EVENTS}


class Events(Memory):
    """The events of a fleet: their numbers, and the last ones, which can be requested again.

    Attributes:
        sequence: (N,) uint16, the number of each vehicle's last event, 0 = none yet.
    """

    MEMORY = ("sequence",)

    def __init__(self, n: int):
        """No events of n vehicles yet."""
        self.sequence = np.zeros(n, dtype=np.uint16)
        self._recent = {}  # vehicle -> deque of messages
        self.remember_start()

    def reset(self, mask: np.ndarray | None = None) -> None:
        """These vehicles have sent none."""
        super().reset(mask)
        for i in np.arange(len(self.sequence)) if mask is None else np.flatnonzero(mask):
            self._recent.pop(int(i), None)

    def of_text(self, i: int, text: str, given: Sequence[Any], t_us: int) -> Any:
        """The EVENT message of vehicle i that belongs to a text, or None.

        Args:
            i: The vehicle.
            text: Without a tab.
            given: Name and arguments, or nothing where the text tells them.
            t_us: Now [us].
        """
        if given:
            return self._message(i, _BY_NAME[given[0]], given[1:], t_us)
        for pattern, event in _PATTERNS:
            found = pattern.fullmatch(text)
            if found:
                return self._message(i, event, found.groups(), t_us)
        return None

    def _message(self, i, event, arguments, t_us):
        self.sequence[i] += 1
        message = mavlink.MAVLink_event_message(
            0, 0, _COMPONENT | event.number, t_us // 1000 & 0xFFFFFFFF, int(self.sequence[i]),
            event.levels, list(event.pack(arguments).ljust(40, b"\0")))
        self._recent.setdefault(i, deque(maxlen=_KEPT)).append(message)
        return message

    def again(self, i: int, first: int, last: int) -> list:
        """EVENT messages of vehicle i from one number to another, or RESPONSE_EVENT_ERROR."""
        kept = {message.sequence: message for message in self._recent.get(i, ())}
        oldest = min(kept, default=int(self.sequence[i]))
        count = min((last - first) % 65536 + 1, _KEPT)
        return [kept.get(number) or mavlink.MAVLink_response_event_error_message(
            0, 0, number, oldest, _UNAVAILABLE)
            for number in ((first + k) % 65536 for k in range(count))]


def metadata() -> dict:
    """All events as a ground station reads them: component metadata of type 4."""
    enums = {name: {"type": "uint8_t", "description": name, "entries": {
        str(number): {"name": re.sub(r"\W+", "_", text).lower(), "description": text}
        for text, number in values.items()}} for name, values in _ENUMS.items()}
    events = {str(event.number): {
        "name": event.name, "message": event.message, **({"arguments": [
            {"name": f"arg{k}", "type": f"px4::{kind}" if kind in _ENUMS else kind}
            for k, kind in enumerate(event.arguments)]} if event.arguments else {})}
        for event in EVENTS}
    return {"version": 2, "components": {"1": {
        "namespace": "px4", "enums": enums, "event_groups": {"default": {"events": events}}}}}
