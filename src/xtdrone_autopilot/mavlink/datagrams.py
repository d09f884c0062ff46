"""UDP datagrams of MAVLink frames: as many whole frames as fit, sent by one call for each socket.

Some clients read no more than one frame's length at once and lose the rest: libmavconn, which
MAVROS uses, has a buffer of 296 bytes.
"""

import socket
from collections.abc import Sequence

import numpy as np
from numba import types
from numba.core.typing import signature

from xtdrone_dynamics.compiled import fleet_kernel, njit
from xtdrone_dynamics.shared_work import SharedWork

LARGEST = 280  # bytes of one datagram; a MAVLink 2 frame has at most as many
_SHARE = 16  # vehicles of one share of SharedWork
_MOST = 64  # datagrams handed to the kernel at once
_OVERHEAD = 12  # bytes of a frame besides its payload
_ADDRESS = 16  # bytes of a sockaddr_in

# Linux's structures of sendmmsg(2) with 64-bit pointers: iovec, and what is used of mmsghdr.
_PART = np.dtype([("base", "u8"), ("size", "u8")])
_MESSAGE = np.dtype({"names": ["address", "address_size", "parts", "n_parts"],
                     "formats": ["u8", "u4", "u8", "u8"], "offsets": [0, 8, 16, 24],
                     "itemsize": 64})

_sendmmsg = types.ExternalFunction(
    "sendmmsg", signature(types.int32, types.int32, types.uintp, types.uint32, types.int32))


def pack_address(address: tuple[str, int]) -> np.ndarray:
    """An IPv4 address as the kernel reads it: (16,) uint8."""
    host, port = address
    return np.frombuffer(socket.AF_INET.to_bytes(2, "little") + port.to_bytes(2, "big")
                         + socket.inet_aton(host) + bytes(8), dtype=np.uint8)


class Sender:
    """Sends the frames of a fleet to the addresses of each vehicle."""

    def __init__(self, n: int, most: int):
        """Nothing to send to yet.

        Args:
            n: Number of vehicles.
            most: Addresses of one vehicle.
        """
        self.sockets = np.full(n, -1, dtype=np.int32)  # file numbers
        self._addresses = np.zeros((n, most, _ADDRESS), dtype=np.uint8)
        self._counts = np.zeros(n, dtype=np.int64)
        self._scratch = _new_scratch()

    def set_addresses(self, i: int, addresses: Sequence[tuple[str, int]]) -> None:
        """Where send() sends the frames of vehicle i."""
        self._counts[i] = len(addresses)
        for k, address in enumerate(addresses):
            self._addresses[i, k] = pack_address(address)

    def send(self, frames: np.ndarray, length: np.ndarray) -> None:
        """Sends frames (N, B) uint8, of which length (N,) bytes count, to every address."""
        _send(self._fleet(frames, length), 0, len(length), self._scratch)

    def send_to(self, i: int, frames: np.ndarray, address: tuple[str, int]) -> None:
        """Sends frames (B,) uint8 of vehicle i to one address."""
        _send((self.sockets[i:i + 1], frames[None], np.array([len(frames)]),
               pack_address(address)[None, None], np.ones(1, dtype=np.int64)), 0, 1, self._scratch)

    def shared(self, frames: np.ndarray, length: np.ndarray) -> SharedWork:
        """send() of what these arrays hold each time, side by side with a thread."""
        return SharedWork(_send_share, -(-len(length) // _SHARE), self._fleet(frames, length),
                          _new_scratch)

    def _fleet(self, frames, length):
        return self.sockets, frames, length, self._addresses, self._counts


def _new_scratch():
    return np.zeros(_MOST, dtype=_MESSAGE), np.zeros(_MOST, dtype=_PART)


@njit
def _send_share(share, fleet, scratch):
    """Hands the datagrams of one share of the fleet to the kernel."""
    _send(fleet, share * _SHARE, (share + 1) * _SHARE, scratch)


@fleet_kernel
def _send(fleet, first, last, scratch):
    """Hands the datagrams of some vehicles to the kernel."""
    sockets, frames, length, addresses, counts = fleet
    messages, parts = scratch
    for i in range(first, min(last, len(sockets))):
        for a in range(counts[i]):
            begin = 0
            while begin < length[i]:
                n = 0
                while begin < length[i] and n < _MOST:
                    end = _datagram_end(frames[i], begin, length[i])
                    parts[n]["base"] = frames[i, begin:].ctypes.data
                    parts[n]["size"] = end - begin
                    messages[n]["address"] = addresses[i, a].ctypes.data
                    messages[n]["address_size"] = _ADDRESS
                    messages[n]["parts"] = parts[n:].ctypes.data
                    messages[n]["n_parts"] = 1
                    begin, n = end, n + 1
                _hand_over(sockets[i], messages, n)


@njit
def _datagram_end(frames, begin, length):
    """Where the datagram that begins with a frame ends."""
    end = begin + _OVERHEAD + frames[begin + 1]
    while end < length and end + _OVERHEAD + frames[end + 1] - begin <= LARGEST:
        end += _OVERHEAD + frames[end + 1]
    return end


@njit
def _hand_over(number, messages, n):
    """Sends messages; one that cannot be sent now is lost, as telemetry may be."""
    at = 0
    while at < n:
        at += max(1, _sendmmsg(number, messages[at:].ctypes.data, n - at, 0))
