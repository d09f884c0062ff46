"""UDP datagrams of MAVLink frames: as many whole frames as fit, sent by one call for each socket.

Datagrams of one size, and a shorter one behind them, pass the network stack as one where the kernel
can cut them apart on arrival (UDP_SEGMENT, udp(7)).

Some clients read no more than one frame's length at once and lose the rest: libmavconn, which
MAVROS uses, has a buffer of 296 bytes.
"""

import functools
import socket
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numba import types
from numba.core.typing import signature

from xtdrone_dynamics.compiled import fleet_kernel, njit
from xtdrone_dynamics.shared_work import SharedWork

LARGEST = 280  # bytes of one datagram; a MAVLink 2 frame has at most as many
_BLOCK_SIZE = 4  # vehicles of one block of SharedWork
_MAX = 64  # datagrams handed to the kernel at once
_OVERHEAD = 12  # bytes of a frame besides its payload
_ADDRESS = 16  # bytes of a sockaddr_in

# Linux's structures of sendmmsg(2) with 64-bit pointers: iovec, and what is used of mmsghdr.
_PART = np.dtype([("base", "u8"), ("size", "u8")])
_MESSAGE = np.dtype(
    {
        "names": ["address", "address_size", "parts", "n_parts", "control", "control_size"],
        "formats": ["u8", "u4", "u8", "u8", "u8", "u8"],
        "offsets": [0, 8, 16, 24, 32, 40],
        "itemsize": 64,
    }
)
_CONTROL = np.dtype(
    [("size", "u8"), ("level", "i4"), ("kind", "i4"), ("segment", "u2")], align=True
)  # cmsghdr with its value
# Sockets, frames, their lengths, addresses, numbers of addresses, and whether datagrams are cut.
_Fleet: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, bool]
_Scratch: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]  # messages, parts, controls
_CONTROL_SIZE, _CONTROL_SPACE, _SOL_UDP, _UDP_SEGMENT = 18, 24, 17, 103

_sendmmsg = types.ExternalFunction(
    "sendmmsg", signature(types.int32, types.int32, types.uintp, types.uint32, types.int32)
)


def pack_address(address: tuple[str, int]) -> np.ndarray:
    """An IPv4 address as the kernel reads it: (16,) uint8."""
    host, port = address
    return np.frombuffer(
        socket.AF_INET.to_bytes(2, "little")
        + port.to_bytes(2, "big")
        + socket.inet_aton(host)
        + bytes(8),
        dtype=np.uint8,
    )


class Sender:
    """Sends the frames of a fleet to the addresses of each vehicle."""

    def __init__(self, n: int, maximum: int) -> None:
        """Nothing to send to yet.

        Args:
            n: Number of vehicles.
            maximum: Addresses of one vehicle.
        """
        self.sockets = np.full(n, -1, dtype=np.int32)  # file numbers
        self._addresses = np.zeros((n, maximum, _ADDRESS), dtype=np.uint8)
        self._counts = np.zeros(n, dtype=np.int64)
        self._scratch = _new_scratch()

    def set_addresses(self, i: int, addresses: Sequence[tuple[str, int]]) -> None:
        """Sets where send() sends the frames of vehicle i."""
        self._counts[i] = len(addresses)
        for k, address in enumerate(addresses):
            self._addresses[i, k] = pack_address(address)

    def send(self, frames: np.ndarray, length: np.ndarray) -> None:
        """Sends frames (N, B) uint8, of which length (N,) bytes count, to every address."""
        _send(self._fleet(frames, length), 0, len(length), self._scratch)

    def send_to(self, i: int, frames: np.ndarray, address: tuple[str, int]) -> None:
        """Sends frames (B,) uint8 of vehicle i to one address."""
        _send(
            (
                self.sockets[i : i + 1],
                frames[None],
                np.array([len(frames)]),
                pack_address(address)[None, None],
                np.ones(1, dtype=np.int64),
                _cuts(),
            ),
            0,
            1,
            self._scratch,
        )

    def shared(self, frames: np.ndarray, length: np.ndarray) -> SharedWork:
        """Returns send() of the contents of these arrays as work that is shared with a thread."""
        return SharedWork(
            _send_block, -(-len(length) // _BLOCK_SIZE), self._fleet(frames, length), _new_scratch
        )

    def _fleet(self, frames: np.ndarray, length: np.ndarray) -> _Fleet:
        return self.sockets, frames, length, self._addresses, self._counts, _cuts()


def _new_scratch() -> _Scratch:
    controls = np.zeros(_MAX, dtype=_CONTROL)
    controls["size"], controls["level"] = _CONTROL_SIZE, _SOL_UDP
    controls["kind"] = _UDP_SEGMENT
    return np.zeros(_MAX, dtype=_MESSAGE), np.zeros(_MAX, dtype=_PART), controls


@functools.cache
def _cuts() -> bool:
    """Returns whether the kernel cuts datagrams apart, as Linux 4.18 and newer do."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.setsockopt(_SOL_UDP, _UDP_SEGMENT, 0)
        except OSError:
            return False
    return True


@njit
def _send_block(block: int, fleet: _Fleet, scratch: _Scratch) -> None:
    """Hands the datagrams of one part of the fleet to the operating system."""
    _send(fleet, block * _BLOCK_SIZE, (block + 1) * _BLOCK_SIZE, scratch)


@fleet_kernel
def _send(fleet: _Fleet, first: int, last: int, scratch: _Scratch) -> None:
    """Hands the datagrams of some vehicles to the operating system."""
    sockets, frames, length, addresses, counts, cuts = fleet
    messages, parts, controls = scratch
    for i in range(first, min(last, len(sockets))):
        for a in range(counts[i]):
            begin = 0
            while begin < length[i]:
                n = 0
                while begin < length[i] and n < _MAX:
                    end = _datagram_end(frames[i], begin, length[i])
                    size = end - begin
                    if cuts:
                        end = _segments_end(frames[i], end, length[i], size)
                    parts[n]["base"] = frames[i, begin:].ctypes.data
                    parts[n]["size"] = end - begin
                    messages[n]["address"] = addresses[i, a].ctypes.data
                    messages[n]["address_size"] = _ADDRESS
                    messages[n]["parts"] = parts[n:].ctypes.data
                    messages[n]["n_parts"] = 1
                    controls[n]["segment"] = size
                    several = end - begin > size
                    messages[n]["control"] = controls[n:].ctypes.data if several else 0
                    messages[n]["control_size"] = _CONTROL_SPACE if several else 0
                    begin, n = end, n + 1
                _hand_over(sockets[i], messages, n)


@njit
def _segments_end(frames: np.ndarray, end: int, length: int, size: int) -> int:
    """Returns the end of the datagrams that the operating system can cut apart.

    All have one size; the last may be shorter.
    """
    while end < length:
        after = _datagram_end(frames, end, length)
        if after - end > size:
            return end
        short = after - end < size
        end = after
        if short:
            return end
    return end


@njit
def _datagram_end(frames: np.ndarray, begin: int, length: int) -> int:
    """Returns the end of the datagram that begins with a frame."""
    end = begin + _OVERHEAD + frames[begin + 1]
    while end < length and end + _OVERHEAD + frames[end + 1] - begin <= LARGEST:
        end += _OVERHEAD + frames[end + 1]
    return end


@njit
def _hand_over(number: int, messages: np.ndarray, n: int) -> None:
    """Sends messages; one that cannot be sent now is lost, as telemetry may be."""
    at = 0
    while at < n:
        at += max(1, _sendmmsg(number, messages[at:].ctypes.data, n - at, 0))
