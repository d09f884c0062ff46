"""PX4's events: what it tells a ground station by EVENT messages, beside texts for others.

A text that is an event as well ends in a tab, as PX4's do; ground stations that show events leave
such texts out. A new event is a row of EVENTS, with the name that PX4 gives it: `Outbox.say()` then
sends it with its text. https://mavlink.io/en/services/events.html
"""

import re
import struct
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_core.runs.snapshot import Memory

from .reasons import ABORTED_LANDINGS, QUADCHUTES

Arguments: TypeAlias = Sequence[Any]  # numbers, and texts of the enumerations below
_COMPONENT = 1 << 24  # the autopilot's, in the id of an event
_KEPT = 20  # events of one vehicle that can be requested again
_UNAVAILABLE = 0  # MAV_EVENT_ERROR_REASON
# Levels: for users, and four bits for logs.
_INFO, _WARNING, _CRITICAL, _EMERGENCY = 0x66, 0x64, 0x62, 0x60
_ERROR, _WARN, _FAILSAFE = 0x33, 0x44, 0x42
_FIRST = 65525  # the sequence before a vehicle's first event: PX4's, which soon begins anew

# Enumerations of arguments: text -> number.
_REASONS = {
    "external command": 4,
    "mission start": 5,
    "landing": 6,
    "auto preflight disarming": 7,
    "kill-switch": 8,
    "failsafe": 14,
    "internal command": 3,
    "RC": 1,
}
_ACTIONS = {
    "warning": 1,
    "Position mode": 2,
    "Altitude mode": 3,
    "Stabilized mode": 4,
    "Hold": 5,
    "RTL": 6,
    "Land": 7,
    "Descend": 8,
    "disarm": 9,
    "terminate": 10,
}
_CAUSES = {
    "Manual control loss": 1,
    "GCS connection loss": 2,
    "Low battery level": 3,
    "Critical battery level": 4,
    "Emergency battery level": 5,
}
_MODES = {
    "Manual": 0,
    "Altitude": 1,
    "Position": 2,
    "Mission": 3,
    "Hold": 4,
    "Return": 5,
    "Acro": 6,
    "Offboard": 7,
    "Stabilized": 8,
    "Position Slow": 9,
    "Takeoff": 10,
    "Land": 11,
    "Follow Target": 12,
    "Precision Landing": 13,
    "Orbit": 14,
    "VTOL Takeoff": 15,
    **{f"External {k}": 15 + k for k in range(1, 9)},
}
ENUMS = {
    "navigation_mode_t": _MODES,
    "arm_disarm_reason_t": _REASONS,
    "failsafe_action_t": _ACTIONS,
    "failsafe_cause_t": _CAUSES,
}
_CODES = {"float": "f", "uint8_t": "B", "uint16_t": "H", "int32_t": "i", "uint32_t": "I"}


def event_number(name: str) -> int:
    """The number that PX4 gives to an event: 24 bits of the FNV-1a hash of its name."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = (value ^ byte) * 0x1000193 & 0xFFFFFFFF
    return value & 0xFFFFFF


@dataclass(frozen=True)
class Event:
    """One of PX4's events.

    Attributes:
        name: PX4's.
        text: Pattern of the STATUSTEXT, its groups are the arguments; "" = given by name.
        message: For ground stations, with {1} for the first argument.
        levels: Of severity.
        arguments: Their types.
        adds_checks: A ground station shows the arming checks that fail behind it.
    """

    name: str
    text: str
    message: str
    levels: int = _INFO
    arguments: tuple[str, ...] = ()
    adds_checks: bool = False

    @property
    def number(self) -> int:
        """PX4's number of the event."""
        return event_number(self.name)

    def pack(self, values: Arguments) -> bytes:
        """The arguments as they are sent."""
        out = b""
        for kind, value in zip(self.arguments, values):
            if kind in ENUMS:
                out += struct.pack("<B", ENUMS[kind].get(value, 0))
            else:
                number = float(value)
                out += struct.pack(f"<{_CODES[kind]}", number if kind == "float" else int(number))
        return out


_NUMBER = r"(-?[\d.]+)"
EVENTS = (
    Event("commander_armed_by", "Armed by (.*)", "Armed by {1}", _INFO, ("arm_disarm_reason_t",)),
    Event(
        "commander_disarmed_by",
        "Disarmed by (.*)",
        "Disarmed by {1}",
        _INFO,
        ("arm_disarm_reason_t",),
    ),
    Event("commander_takeoff_detected", "Takeoff detected", "Takeoff detected"),
    Event("commander_landing_detected", "Landing detected", "Landing detected"),
    Event(
        "commander_landing_current_pos",
        "Landing at current position",
        "Landing at current position",
    ),
    Event("commander_rtl", "Returning to launch", "Returning to launch"),
    Event(
        "commander_modeswitch_not_avail",
        "",
        "Switching to mode '{2}' is currently not possible",
        _CRITICAL,
        ("uint32_t", "navigation_mode_t"),
    ),
    Event(
        "commander_unsupported_auto_mode", "Unsupported auto mode", "Unsupported auto mode", _ERROR
    ),
    Event(
        "commander_disarm_denied_not_landed",
        "Disarming denied: not landed",
        "Disarming denied: not landed",
        _CRITICAL,
    ),
    Event(
        "commander_arm_denied_resolve_failures",
        "Arming denied: Resolve system health failures first",
        "Arming denied: Resolve system health failures first",
        _CRITICAL,
    ),
    Event(
        "commander_gcs_lost",
        "Connection to ground station lost",
        "Connection to ground control station lost",
        _WARNING,
    ),
    Event("commander_dl_regained", "GCS connection regained", "GCS connection regained"),
    Event("commander_rc_lost", "", "Manual control lost"),
    Event("commander_rc_regained", "", "Manual control regained after {1:.1} s", _INFO, ("float",)),
    Event(
        "commander_failsafe_enter_generic_warn",
        "",
        "Failsafe warning:",
        _WARN,
        ("uint32_t",),
        adds_checks=True,
    ),
    Event(
        "commander_failsafe_enter_warn",
        "",
        "Failsafe warning: {2}",
        _WARN,
        ("uint32_t", "failsafe_cause_t"),
    ),
    Event("commander_failsafe_enter_low_bat", "", "Low battery level, return advised", _WARNING),
    Event(
        "commander_failsafe_enter_crit_bat_warn", "", "Critical battery level, land now", _CRITICAL
    ),
    Event(
        "commander_failsafe_enter_crit_low_bat_warn",
        "",
        "Emergency battery level, land immediately",
        _EMERGENCY,
    ),
    Event(
        "check_above_wind_limits_warning",
        "",
        "Wind speed above limit ({1:.1m/s}), landing advised",
        _WARN,
        ("float",),
    ),
    Event(
        "check_high_wind_warning",
        "",
        "High wind speed detected ({1:.1m/s}), landing advised",
        _WARNING,
        ("float",),
    ),
    Event(
        "commander_failsafe_enter_hold",
        "",
        "{4}: switching to {2} in {3} seconds",
        _FAILSAFE,
        ("uint32_t", "failsafe_action_t", "uint16_t", "failsafe_cause_t"),
    ),
    Event(
        "commander_failsafe_enter_generic_hold",
        "",
        "Failsafe activated: switching to {2} in {3} seconds",
        _FAILSAFE,
        ("uint32_t", "failsafe_action_t", "uint16_t"),
        adds_checks=True,
    ),
    Event(
        "commander_failsafe_enter",
        "",
        "{3}: switching to {2}",
        _FAILSAFE,
        ("uint32_t", "failsafe_action_t", "failsafe_cause_t"),
    ),
    Event(
        "commander_failsafe_enter_generic",
        "",
        "Failsafe activated: Autopilot disengaged, switching to {2}",
        _FAILSAFE,
        ("uint32_t", "failsafe_action_t"),
        adds_checks=True,
    ),
    Event(
        "navigator_takeoff_default_alt",
        f"Using default takeoff altitude: {_NUMBER} m",
        "Using default takeoff altitude: {1:.2m}",
        _INFO,
        ("float",),
    ),
    Event("mission_execute", "Executing Mission", "Executing Mission"),
    Event(
        "mission_climb_before_start",
        f"Climb to {_NUMBER} meters above home",
        "Climb to {1:.1m_v} above home",
        _INFO,
        ("float",),
    ),
    Event("mission_finished", "Mission finished, landed", "Mission finished, landed"),
    Event("mission_finished_loiter", "Mission finished, loitering", "Mission finished, loitering"),
    Event(
        "vrtl_return_at",
        f"RTL: start return at {_NUMBER} m \\({_NUMBER} m above destination\\)",
        "RTL: start return at {1m_v} ({2m_v} above destination)",
        _INFO,
        ("int32_t", "int32_t"),
    ),
    Event("rtl_completed_loiter", "RTL: completed, loitering", "RTL: completed, loitering"),
    Event("rtl_land_at_destination", "RTL: land at destination", "RTL: land at destination"),
    *(
        Event(
            f"vtol_att_ctrl_quadchute_{name}", "", f"Quad-chute triggered due to {words}", _CRITICAL
        )
        for words, name in QUADCHUTES.values()
    ),
    *(
        Event(
            f"fixedwing_position_control_landing_abort_status_{name}",
            "",
            f"Landing aborted{words}",
            _CRITICAL,
        )
        for words, name in ABORTED_LANDINGS.values()
    ),
    Event(
        "mission_holding_above_landing",
        "",
        "Holding at {1:.0m_v} above landing waypoint",
        _INFO,
        ("float",),
    ),
)
_PATTERNS = [(re.compile(event.text), event) for event in EVENTS if event.text]
_BY_NAME = {event.name: event for event in EVENTS}


class Events(Memory):
    """The events of a fleet: their numbers, and the last ones, which can be requested again.

    Attributes:
        sequence: (N,) uint16, the number of each vehicle's last event.
    """

    MEMORY = ("sequence",)

    def __init__(self, n: int) -> None:
        """No events of n vehicles yet."""
        self.sequence = np.full(n, _FIRST, dtype=np.uint16)
        self._recent: dict[int, deque[MavlinkMessage]] = {}  # vehicle -> deque of messages
        self.remember_start()

    def reset(self, mask: np.ndarray | None = None) -> None:
        """These vehicles have sent none."""
        super().reset(mask)
        for i in np.arange(len(self.sequence)) if mask is None else np.flatnonzero(mask):
            self._recent.pop(int(i), None)

    def of_text(self, i: int, text: str, given: Arguments, t_us: int) -> MavlinkMessage | None:
        """The EVENT message of vehicle i that belongs to a text, or None.

        Args:
            i: The vehicle.
            text: Without a tab.
            given: Name and arguments, or nothing where the text tells them.
            t_us: Now [us].
        """
        if given:
            return self.named(i, given[0], given[1:], t_us)
        for pattern, event in _PATTERNS:
            found = pattern.fullmatch(text)
            if found:
                return self._message(i, event, found.groups(), t_us)
        return None

    def named(self, i: int, name: str, arguments: Arguments, t_us: int) -> MavlinkMessage:
        """The EVENT message of vehicle i with the name of a row of EVENTS."""
        return self._message(i, _BY_NAME[name], arguments, t_us)

    def message(
        self, i: int, number: int, levels: int, arguments: bytes, t_us: int
    ) -> MavlinkMessage:
        """The next EVENT message of vehicle i."""
        self.sequence[i] = (int(self.sequence[i]) + 1) % 65536
        message = mavlink.MAVLink_event_message(
            0,
            0,
            _COMPONENT | number,
            t_us // 1000 & 0xFFFFFFFF,
            int(self.sequence[i]),
            levels,
            list(arguments.ljust(40, b"\0")),
        )
        self._recent.setdefault(i, deque(maxlen=_KEPT)).append(message)
        return message

    def begun(self) -> np.ndarray:
        """(N,) bool, there was an event."""
        return self.sequence != _FIRST

    def again(self, i: int, first: int, last: int, system: int = 0, component: int = 0) -> list:
        """EVENT messages of vehicle i from one number to another, or RESPONSE_EVENT_ERROR.

        Args:
            i: The vehicle.
            first, last: Numbers, modulo 65536.
            system, component: Of whom asks.
        """
        kept = {message.sequence: message for message in self._recent.get(i, ())}
        count = min((last - first) % 65536 + 1, _KEPT)
        out = []
        for number in ((first + k) % 65536 for k in range(count)):
            oldest = min(kept, key=lambda one: (one - number) % 65536, default=self.sequence[i])
            out.append(
                kept.get(number)
                or mavlink.MAVLink_response_event_error_message(
                    system, component, number, int(oldest), _UNAVAILABLE
                )
            )
        return out

    def _message(self, i: int, event: Event, arguments: Arguments, t_us: int) -> MavlinkMessage:
        return self.message(i, event.number, event.levels, event.pack(arguments), t_us)
