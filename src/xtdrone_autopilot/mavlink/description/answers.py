"""Messages that only answer a request: MAV_CMD_REQUEST_MESSAGE with their number.

A new one is one method here, marked with its name; it gives the messages of the answer.
"""

import shutil
from collections.abc import Sequence

import numpy as np

from xtdrone_core.mavlink.checksum import crc32
from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink

from ...state.clock import StepClock
from ...state.events import Events
from ...state.handlers import on_request, receives
from ..links import Link, Links
from ..telemetry.modes import available_modes
from .metadata import GENERAL, files

_VERSION = 200, 100, 200  # versions of MAVLink: in use, oldest, newest
_DISK = 1  # number of the only storage
_URI = f"mftp://{GENERAL}"


class Answers:
    """Describes the vehicles of a fleet."""

    def __init__(self, status: np.ndarray, clock: StepClock) -> None:
        """status: (N,) of VEHICLE_STATUS. clock: Time of the flight stack."""
        self._status, self._clock = status, clock

    @on_request("PROTOCOL_VERSION")
    def _protocol_version(self, i: int, params: Sequence[float]) -> list:
        return [mavlink.MAVLink_protocol_version_message(*_VERSION, [0] * 8, [0] * 8)]

    @on_request("AVAILABLE_MODES")
    def _available_modes(self, i: int, params: Sequence[float]) -> list:
        return available_modes(round(params[0]) if np.isfinite(params[0]) else 0)

    @on_request("COMPONENT_METADATA")
    def _component_metadata(self, i: int, params: Sequence[float]) -> list:
        return [
            mavlink.MAVLink_component_metadata_message(
                self._ms, crc32(files()[GENERAL]), _URI.encode()
            )
        ]

    @on_request("FLIGHT_INFORMATION")
    def _flight_information(self, i: int, params: Sequence[float]) -> list:
        status = self._status[i]
        armed = int(status["armed_t"]) if status["armed"] else 0
        flying = int(status["landed_t"]) if status["armed"] and not status["landed"] else 0
        return [mavlink.MAVLink_flight_information_message(self._ms, armed, flying, 0)]

    @on_request("STORAGE_INFORMATION")
    def _storage_information(self, i: int, params: Sequence[float]) -> list:
        number = round(params[0]) if np.isfinite(params[0]) else 0
        if number not in (0, _DISK):  # 0 = all
            return []
        total, used, free = (size / 2**20 for size in shutil.disk_usage("."))
        return [
            mavlink.MAVLink_storage_information_message(
                self._ms, _DISK, 1, mavlink.STORAGE_STATUS_READY, total, used, free, 0.0, 0.0
            )
        ]

    @property
    def _ms(self) -> int:
        return self._clock.t_us // 1000 & 0xFFFFFFFF


class EventProtocol:
    """Answers ground stations that have missed events."""

    def __init__(self, events: Events, links: Links) -> None:
        """events: Of the fleet. links: Replies go out on them."""
        self._events, self._links = events, links

    @receives("REQUEST_EVENT")
    def _request_event(self, link: Link, message: MavlinkMessage) -> None:
        for answer in self._events.again(
            link.vehicle, message.first_sequence, message.last_sequence, *link.source or (0, 0)
        ):
            self._links.reply(link, answer)
