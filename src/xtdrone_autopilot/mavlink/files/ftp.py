"""Files over MAVLink FTP, read-only: each vehicle's own logs and saved parameters.

What a client sees is a small tree of names, made anew for each request:

    /log/log001.ulg ...       the vehicle's flight logs
    /params/NAME.params       the parameters that it saved
    /etc/extras/NAME.json.xz  component metadata

A path is looked up among those names and never put together into a path of the
disk, so a client cannot leave the tree. https://mavlink.io/en/services/ftp.html
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..description import metadata
from ..dialect import mavlink
from ..handlers import receives
from ..links import MAX_PEERS

_HEAD = struct.Struct("<HBBBBBxI")  # sequence, session, opcode, size, request, burst end, offset
_PAYLOAD = 251
ROOM = _PAYLOAD - _HEAD.size  # bytes of data in one message
BURST = 20  # messages that answer one burst request; the client then requests more
_BLOCK = 1 << 20  # read at once for a checksum [bytes]
_SESSIONS = 8 * MAX_PEERS  # of all vehicles together

_NONE, _TERMINATE, _RESET, _LIST, _OPEN, _READ, _CRC, _BURST = 0, 1, 2, 3, 4, 5, 14, 15
_WRITES = frozenset({6, 7, 8, 9, 10, 11, 12, 13})
_ACK, _NAK = 128, 129
_FAIL, _BAD_SIZE, _NO_SESSION, _END, _UNKNOWN, _PROTECTED, _NOT_FOUND = 1, 3, 4, 6, 7, 9, 10


class _Refused(Exception):
    """An error, reported to the client by its number."""

    def __init__(self, error: int):
        super().__init__(error)
        self.error = error


@dataclass
class _Session:
    """A file that one client has open: no more of it is read than there was at first."""

    file: Path | bytes
    size: int


class FileServer:
    """Answers FILE_TRANSFER_PROTOCOL on the links of a fleet."""

    def __init__(self, log: Any, parameter_files: Sequence[Path] | None, links: Any):
        """A server of a fleet's files.

        Args:
            log: Its FleetLog, or None.
            parameter_files: One for each vehicle, where it saves its parameters, or None.
            links: Its Links.
        """
        self._log, self._parameter_files, self._links = log, parameter_files, links
        self._sessions = {}  # (link kind, vehicle, address) -> _Session

    @receives("FILE_TRANSFER_PROTOCOL")
    def handle(self, link: Any, message: Any) -> None:
        """Answers one request that names this vehicle."""
        if message.target_system != link.vehicle + 1:
            return
        payload = bytes(message.payload)
        sequence, session, opcode, size, _, _, offset = _HEAD.unpack_from(payload)
        key = link.kind, link.vehicle, link.sender
        try:
            if size > ROOM:
                raise _Refused(_BAD_SIZE)
            parts = self._answer(key, opcode, payload[_HEAD.size:_HEAD.size + size], size, offset)
        except _Refused as refused:
            parts = [(_NAK, offset, bytes((refused.error,)))]
        except OSError:  # it was erased since it was listed
            parts = [(_NAK, offset, bytes((_FAIL,)))]
        for k, (kind, at, data) in enumerate(parts):
            last = opcode == _BURST and k == len(parts) - 1
            head = _HEAD.pack(sequence + 1 + k & 0xFFFF, session, kind, len(data), opcode, last,
                              at)
            self._links.reply(link, mavlink.MAVLink_file_transfer_protocol_message(
                0, message.get_srcSystem(), message.get_srcComponent(),
                (head + data).ljust(_PAYLOAD, b"\0")))

    def _answer(self, key, opcode, data, size, offset):
        """The messages of the reply: (ACK or NAK, offset, data) of each."""
        if opcode == _LIST:
            return [(_ACK, offset, self._entries(key[1], data, offset))]
        if opcode == _OPEN:
            return [(_ACK, 0, struct.pack("<I", self._open(key, data)))]
        if opcode == _CRC:
            return [(_ACK, 0, struct.pack("<I", self._crc(key[1], data)))]
        if opcode == _READ:
            return [(_ACK, offset, self._read(key, offset, size or ROOM))]
        if opcode == _BURST:
            size = size or ROOM
            found = self._read(key, offset, BURST * size)
            return [(_ACK, offset + k, found[k:k + size]) for k in range(0, len(found), size)]
        if opcode in (_TERMINATE, _RESET):
            self._sessions.pop(key, None)
        elif opcode != _NONE:
            raise _Refused(_PROTECTED if opcode in _WRITES else _UNKNOWN)
        return [(_ACK, 0, b"")]

    def _tree(self, i):
        """Path of a folder, as its names -> (name -> file or None, a folder) of vehicle i."""
        logs = [] if self._log is None else self._log.files(i)
        saved = [] if self._parameter_files is None else [self._parameter_files[i]]
        tree = {("log",): {}, ("params",): {}}
        for folder, paths in (("log", logs), ("params", saved)):
            tree[folder,] = {path.name: path for path in paths
                             if path.is_file() and not path.is_symlink()}
        for path, data in metadata.files().items():
            *folder, name = path.split("/")
            tree.setdefault(tuple(folder), {})[name] = data
        for folder in list(tree):
            for k in range(len(folder)):
                tree.setdefault(folder[:k], {})[folder[k]] = None
        return tree

    @staticmethod
    def _names(data):
        """The names that make up a path."""
        text = data.split(b"\0")[0].decode("utf-8", "replace")
        return [name for name in text.split("/") if name not in ("", ".")]

    def _entries(self, i, data, offset):
        """As many entries of a folder as fit, from number `offset` on."""
        folder = self._tree(i).get(tuple(self._names(data)))
        if folder is None:
            raise _Refused(_NOT_FOUND)
        lines = [f"D{name}" if file is None else f"F{name}\t{_size(file)}"
                 for name, file in folder.items()]
        if offset >= len(lines):
            raise _Refused(_END)
        out = b""
        for line in lines[offset:]:
            entry = line.encode() + b"\0"
            if len(out) + len(entry) > ROOM:
                break
            out += entry
        return out

    def _file(self, i, data):
        """The file of vehicle i that a path names; what was logged so far is in it."""
        names = self._names(data)
        if len(names) == 2 and names[0] == "log" and self._log is not None:
            self._log.flush(i)
        file = self._tree(i).get(tuple(names[:-1]), {}).get(names[-1]) if names else None
        if file is None:
            raise _Refused(_NOT_FOUND)
        return file

    def _open(self, key, data):
        """Opens a file and closes the client's previous one; returns its size."""
        file = self._file(key[1], data)
        self._sessions.pop(key, None)
        if len(self._sessions) >= _SESSIONS:
            del self._sessions[next(iter(self._sessions))]  # the oldest
        self._sessions[key] = _Session(file, _size(file))
        return self._sessions[key].size

    def _read(self, key, offset, size):
        session = self._sessions.get(key)
        if session is None:
            raise _Refused(_NO_SESSION)
        if offset >= session.size:
            raise _Refused(_END)
        return _read(session.file, offset, min(size, session.size - offset))

    def _crc(self, i, data):
        file, crc, at = self._file(i, data), 0, 0
        while block := _read(file, at, _BLOCK):
            crc = metadata.crc32(block, crc)
            at += len(block)
        return crc


def _size(file):
    return len(file) if isinstance(file, bytes) else file.stat().st_size


def _read(file, offset, size):
    if isinstance(file, bytes):
        return file[offset:offset + size]
    with open(file, "rb") as opened:
        opened.seek(offset)
        return opened.read(size)
