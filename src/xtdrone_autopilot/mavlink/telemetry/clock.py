"""Messages about time: TIMESYNC, SYSTEM_TIME, PING."""

import time
from typing import Any

import numpy as np

from ...state.handlers import streams


class ClockStreams:
    """Fills the messages about time."""

    def __init__(self, reported: Any) -> None:  # a Reported, whose module imports this one
        """reported: a Reported of streams.py."""

    @streams("TIMESYNC", offboard=10)
    def _timesync(self, message: np.ndarray, t_us: int) -> None:
        message["tc1"], message["ts1"] = (
            0,
            t_us * 1000,
        )  # a request: the other end adds its time as tc1

    @streams("SYSTEM_TIME", offboard=1)
    def _system_time(self, message: np.ndarray, t_us: int) -> None:
        message["time_unix_usec"] = time.time_ns() // 1000  # the computer's, as PX4's in lockstep
        message["time_boot_ms"] = t_us // 1000

    @streams("PING", ground_station=0.1, offboard=1, bridge=False)
    def _ping(self, message: np.ndarray, t_us: int) -> None:
        message["time_usec"] = t_us
        message["seq"] = t_us // 1_000_000
