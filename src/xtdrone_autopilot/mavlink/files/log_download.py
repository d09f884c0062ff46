"""Flight logs over MAVLink: LOG_REQUEST_LIST, LOG_REQUEST_DATA, LOG_ERASE, LOG_REQUEST_END."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_dynamics.compiled import njit

from ...state.handlers import receives
from ...state.outbox import WARNING, Outbox
from ..frames import frame_crc, layout
from ..links import Address, Link, Links

BLOCK = 90  # bytes of a log in one LOG_DATA
FRAME = 12 + 7 + BLOCK  # length of a whole LOG_DATA on the wire [bytes]
FRAMES_PER_PIECE = 12  # frames read from the disk and sent at once
PIECES_PER_TICK = 10  # for all transfers together: 540 kB per simulated second
_LOG_DATA = layout("LOG_DATA")


_Key = tuple[int, int, Address | None]  # link kind, vehicle, address of the client


@dataclass
class _Transfer:
    """Download of one client in progress."""

    link: Link
    address: Address
    number: int  # id of the log
    path: Path
    offset: int
    end: int


@njit
def frames_of_data(
    data: np.ndarray,
    offset: int,
    number: int,
    message_id: int,
    crc_extra: int,
    system: int,
    sequence: int,
    out: np.ndarray,
) -> int:
    """LOG_DATA frames of a piece of a log, one behind the other; one empty one for no bytes.

    Returns:
        Bytes written.
    """
    at, frames, begin = 0, 0, 0
    while begin < data.shape[0] or frames == 0:
        count = min(BLOCK, data.shape[0] - begin)
        body = at + 10
        position = offset + begin
        for k in range(4):
            out[body + k] = position >> (8 * k) & 0xFF
        out[body + 4] = number & 0xFF
        out[body + 5] = number >> 8 & 0xFF
        out[body + 6] = count
        for k in range(count):
            out[body + 7 + k] = data[begin + k]
        size = 7 + count
        while size > 1 and out[body + size - 1] == 0:  # zeros at a payload's end are left out
            size -= 1
        out[at] = 0xFD
        out[at + 1] = size
        out[at + 2] = 0
        out[at + 3] = 0
        out[at + 4] = (sequence + frames) & 0xFF
        out[at + 5] = system
        out[at + 6] = 1
        for k in range(3):
            out[at + 7 + k] = message_id >> (8 * k) & 0xFF
        crc = frame_crc(out, at + 1, body + size, crc_extra)
        out[body + size] = crc & 0xFF
        out[body + size + 1] = crc >> 8
        at = body + size + 2
        begin += count
        frames += 1
    return at


class LogDownload:
    """Serves the logs of a fleet to clients on its links."""

    def __init__(
        self,
        log: Any,  # a FleetLog, of a package at the side of this one
        outbox: Outbox,
        links: Links,
    ) -> None:
        """log: the fleet's FleetLog, or None; links: its Links."""
        self._log, self._outbox, self._links = log, outbox, links
        self._transfers: dict[_Key, _Transfer] = {}
        self._out = np.zeros(FRAMES_PER_PIECE * FRAME, dtype=np.uint8)

    def step(self) -> None:
        """Sends the next pieces of what is being downloaded; call it every tick."""
        for _ in range(PIECES_PER_TICK):
            if not self._transfers:
                return
            key = next(iter(self._transfers))
            transfer = self._transfers.pop(key)
            if self._send(transfer):
                self._transfers[key] = transfer  # behind the others

    def _files(self, i: int) -> Sequence[Path]:
        return [] if self._log is None else self._log.files(i)

    @receives("LOG_REQUEST_LIST")
    def _list(self, link: Link, message: MavlinkMessage) -> None:
        if self._log is not None:
            self._log.flush(link.vehicle)
        files = self._files(link.vehicle)
        last = max(len(files) - 1, 0)
        if not files:
            self._links.reply(link, mavlink.MAVLink_log_entry_message(0, 0, 0, 0, 0))
        for number in range(message.start, min(message.end, last) + 1):
            if number < len(files):
                self._links.reply(
                    link,
                    mavlink.MAVLink_log_entry_message(
                        number, len(files), last, 0, files[number].stat().st_size
                    ),
                )

    @receives("LOG_REQUEST_DATA")
    def _data(self, link: Link, message: MavlinkMessage) -> None:
        files = self._files(link.vehicle)
        if message.id >= len(files):
            self._outbox.say(
                link.vehicle,
                WARNING,
                f"there is no log {message.id}: this vehicle has {len(files)}",
            )
            return
        path = files[message.id]
        end = min(message.ofs + message.count, path.stat().st_size)
        self._transfers[self._key(link)] = _Transfer(
            link, link.sender or link.remote, message.id, path, message.ofs, end
        )

    @receives("LOG_ERASE")
    def _erase(self, link: Link, message: MavlinkMessage) -> None:
        if self._log is not None:
            for key in [k for k in self._transfers if k[1] == link.vehicle]:
                del self._transfers[key]
            self._log.erase(link.vehicle)

    @receives("LOG_REQUEST_END")
    def _end(self, link: Link, message: MavlinkMessage) -> None:
        self._transfers.pop(self._key(link), None)

    @staticmethod
    def _key(link: Link) -> _Key:
        return link.kind, link.vehicle, link.sender

    def _send(self, transfer: _Transfer) -> bool:
        """Sends one piece; says whether more of the transfer is left."""
        size = min(transfer.end - transfer.offset, FRAMES_PER_PIECE * BLOCK)
        data = b""
        if size > 0:
            try:
                with open(transfer.path, "rb") as file:
                    file.seek(transfer.offset)
                    data = file.read(size)
            except OSError:  # erased from outside: an empty chunk signals it to the client
                transfer.end = transfer.offset
        link = transfer.link
        sequence = self._links.take_sequence(link, max(1, -(-len(data) // BLOCK)))
        length = frames_of_data(
            np.frombuffer(data, dtype=np.uint8),
            transfer.offset,
            transfer.number,
            _LOG_DATA.id,
            _LOG_DATA.crc_extra,
            link.system,
            sequence,
            self._out,
        )
        self._links.send_frames(link, self._out[:length], transfer.address)
        transfer.offset += len(data)
        return transfer.offset < transfer.end
