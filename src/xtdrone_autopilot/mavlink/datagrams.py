"""UDP datagrams of MAVLink frames: as many whole frames as fit, sent by one call for each socket.

Some clients read no more than one frame's length at once and lose the rest: libmavconn, which
MAVROS uses, has a buffer of 296 bytes.
"""

import socket
import threading
from collections.abc import Sequence

import numpy as np
from numba import types
from numba.core.typing import signature

from xtdrone_dynamics.compiled import fleet_kernel, njit

LARGEST = 280  # bytes of one datagram; a MAVLink 2 frame has at most as many
_SHARE = 16  # vehicles that a thread sends at a time
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
# Those of sem_overview(7); a semaphore has 32 bytes at most.
_sem_init = types.ExternalFunction(
    "sem_init", signature(types.int32, types.uintp, types.int32, types.uint32))
_sem_post = types.ExternalFunction("sem_post", signature(types.int32, types.uintp))
_sem_wait = types.ExternalFunction("sem_wait", signature(types.int32, types.uintp))
_sem_trywait = types.ExternalFunction("sem_trywait", signature(types.int32, types.uintp))


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
        self._scratch = self.scratch()

    def set_addresses(self, i: int, addresses: Sequence[tuple[str, int]]) -> None:
        """Where send() sends the frames of vehicle i."""
        self._counts[i] = len(addresses)
        for k, address in enumerate(addresses):
            self._addresses[i, k] = pack_address(address)

    def send(self, frames: np.ndarray, length: np.ndarray) -> None:
        """Sends frames (N, B) uint8, of which length (N,) bytes count, to every address."""
        _send(self.fleet(frames, length), 0, len(length), self._scratch)

    def send_to(self, i: int, frames: np.ndarray, address: tuple[str, int]) -> None:
        """Sends frames (B,) uint8 of vehicle i to one address."""
        _send((self.sockets[i:i + 1], frames[None], np.array([len(frames)]),
               pack_address(address)[None, None], np.ones(1, dtype=np.int64)), 0, 1, self._scratch)

    def fleet(self, frames: np.ndarray, length: np.ndarray) -> tuple:
        """What _send() takes of the fleet, as of send()."""
        return self.sockets, frames, length, self._addresses, self._counts

    @staticmethod
    def scratch() -> tuple:
        """What a thread needs to send."""
        return np.zeros(_MOST, dtype=_MESSAGE), np.zeros(_MOST, dtype=_PART)


class SendingThread:
    """Sends what is in the buffers of a fleet aside, each time it is told to.

    The thread stays in compiled code, so that it never needs the interpreter's lock. What it has
    not begun when all must have gone out, because another program has its core, the caller sends.
    """

    def __init__(self, sender: Sender, frames: np.ndarray, length: np.ndarray):
        """The thread waits; sender, frames and length are as of Sender.send()."""
        shares = -(-len(length) // _SHARE)
        # Of each share, whether it waits, and has gone out; at last, whether there is something.
        self._semaphores = np.zeros((2 * shares + 1, 32), dtype=np.uint8)
        self._begun = np.zeros(shares, dtype=np.bool_)  # by the thread
        self._ends = np.zeros(1, dtype=np.bool_)
        self._busy = False
        _create(self._semaphores)
        self._fleet = sender.fleet(frames, length)
        self._thread = threading.Thread(target=_serve, daemon=True, args=(
            self._semaphores, self._ends, self._fleet, sender.scratch()))
        self._scratch = sender.scratch()
        self._thread.start()

    def send(self) -> None:
        """Sends what is in the buffers now; they may not change until finish()."""
        self._busy = True
        _offer(self._semaphores)

    def finish(self) -> None:
        """Returns when all has gone out."""
        if self._busy:
            _complete(self._semaphores, self._begun, self._fleet, self._scratch)
            self._busy = False

    def close(self) -> None:
        """Ends the thread. May be called twice."""
        self.finish()
        self._ends[0] = True
        _offer(self._semaphores)
        self._thread.join()


@fleet_kernel
def _create(semaphores):
    for k in range(len(semaphores)):
        _sem_init(semaphores[k].ctypes.data, 0, 0)


@fleet_kernel
def _offer(semaphores):
    """All shares wait to be sent."""
    for k in range(len(semaphores) // 2):
        _sem_post(semaphores[k].ctypes.data)
    _sem_post(semaphores[-1].ctypes.data)


@njit
def _wait(semaphore):
    while _sem_wait(semaphore.ctypes.data) != 0:  # a signal interrupts it
        pass


@fleet_kernel
def _serve(semaphores, ends, fleet, scratch):
    """What a SendingThread does."""
    shares = len(semaphores) // 2
    while True:
        _wait(semaphores[-1])
        if ends[0]:
            return
        for k in range(shares):
            if _sem_trywait(semaphores[k].ctypes.data) == 0:
                _send(fleet, k * _SHARE, (k + 1) * _SHARE, scratch)
                _sem_post(semaphores[shares + k].ctypes.data)


@fleet_kernel
def _complete(semaphores, begun, fleet, scratch):
    """Sends the shares that the thread has not begun, and waits for the others."""
    shares = len(semaphores) // 2
    for k in range(shares - 1, -1, -1):
        begun[k] = _sem_trywait(semaphores[k].ctypes.data) != 0
        if not begun[k]:
            _send(fleet, k * _SHARE, (k + 1) * _SHARE, scratch)
    for k in range(shares):
        if begun[k]:
            _wait(semaphores[shares + k])


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
