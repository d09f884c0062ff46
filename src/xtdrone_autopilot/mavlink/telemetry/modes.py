"""Messages about modes and events: CURRENT_MODE, AVAILABLE_MODES, CURRENT_EVENT_SEQUENCE."""

from typing import Any

import numpy as np

from xtdrone_core.modes import MODES, PX4_NAME, Mode, custom_mode

from ..dialect import mavlink
from ..handlers import streams

# Modes that MAVLink defines for every autopilot, as PX4 v1.15 names them (MAV_STANDARD_MODE).
STANDARD = {Mode.RTL: 5, Mode.MISSION: 7, Mode.LAND: 8, Mode.TAKEOFF: 9}
_BASIC = frozenset({Mode.ALTCTL, Mode.POSCTL})  # those for beginners, as PX4 sees it
_STANDARD = np.array([STANDARD.get(mode, 0) for mode in Mode], dtype=np.uint8)
_CUSTOM = np.array([custom_mode(mode) for mode in Mode], dtype=np.uint32)
_ORDER = sorted(Mode, key=lambda mode: MODES[mode].nav_state)


class ModeStreams:
    """Fills the messages about modes."""

    def __init__(self, reported: Any):
        """reported: a Reported of streams.py."""
        self._status, self._events = reported.status, reported.events

    @streams("CURRENT_MODE", ground_station=0.5, offboard=0.5, bridge=False)
    def _current_mode(self, m: np.ndarray, t_us: int) -> None:
        mode = self._status["mode"]
        m["standard_mode"] = _STANDARD[mode]
        m["custom_mode"] = m["intended_custom_mode"] = _CUSTOM[mode]

    @streams("CURRENT_EVENT_SEQUENCE", ground_station=1 / 3, offboard=1 / 3, bridge=False)
    def _event_sequence(self, m: np.ndarray, t_us: int) -> None:
        m["sequence"] = self._events
        m["flags"] = self._events == 0  # bit 1: the count has begun anew


def available_modes(number: int) -> list:
    """AVAILABLE_MODES of one mode, counted from 1, or of all for 0."""
    wanted = range(1, len(_ORDER) + 1) if number == 0 else [number]
    return [mavlink.MAVLink_available_modes_message(
        len(_ORDER), k, STANDARD.get(mode, 0), custom_mode(mode), int(mode not in _BASIC),
        b"" if mode in STANDARD else PX4_NAME[mode].encode())
        for k, mode in enumerate(_ORDER, 1) if k in wanted]
