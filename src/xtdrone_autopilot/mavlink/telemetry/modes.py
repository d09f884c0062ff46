"""Messages about modes and events: CURRENT_MODE, AVAILABLE_MODES, CURRENT_EVENT_SEQUENCE."""

from typing import Any

import numpy as np

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.modes import NAV_STATES, NavState

from ...state.handlers import streams

# By nav_state.
STANDARD, BASE = np.zeros((2, max(NAV_STATES) + 1), dtype=np.uint8)
CUSTOM = np.zeros(max(NAV_STATES) + 1, dtype=np.uint32)
for _number, _state in NAV_STATES.items():
    STANDARD[_number], BASE[_number] = _state.standard, _state.base_mode
    CUSTOM[_number] = _state.custom_mode
_LISTED = [state for state in NAV_STATES.values() if state.listed]
_ADVANCED, _NOT_SELECTABLE = 1, 2  # MAV_MODE_PROPERTY


class ModeStreams:
    """Fills the messages about modes."""

    def __init__(self, reported: Any) -> None:  # a Reported, whose module imports this one
        """reported: a Reported of streams.py."""
        self._status, self._events = reported.status, reported.events

    @streams("CURRENT_MODE", ground_station=0.5, offboard=0.5, bridge=False)
    def _current_mode(self, message: np.ndarray, t_us: int) -> None:
        state = self._status["nav_state"]
        message["standard_mode"] = STANDARD[state]
        message["custom_mode"] = message["intended_custom_mode"] = CUSTOM[state]

    @streams("CURRENT_EVENT_SEQUENCE", ground_station=1 / 3, offboard=1 / 3, bridge=False)
    def _event_sequence(self, message: np.ndarray, t_us: int) -> None:
        message["sequence"] = self._events.sequence
        message["flags"] = ~self._events.begun()  # bit 1: the count has begun anew


def available_modes(number: int) -> list:
    """AVAILABLE_MODES of one mode, counted from 1, or of all for 0; PX4 lists what it knows."""
    wanted = range(1, len(_LISTED) + 1) if number == 0 else [number]
    return [
        mavlink.MAVLink_available_modes_message(
            len(_LISTED),
            k,
            state.standard,
            state.custom_mode,
            state.advanced * _ADVANCED | (not state.selectable) * _NOT_SELECTABLE,
            _name(state),
        )
        for k, state in enumerate(_LISTED, 1)
        if k in wanted
    ]


def _name(state: NavState) -> bytes:
    if state.standard:
        return b""
    return b"(Mode not available)" if state.external else state.name.encode()
