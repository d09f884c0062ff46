"""Files over MAVLink FTP: each vehicle's own logs and parameters, and what clients write.

What a client sees is a small tree of names, made anew for each request:

    /log/log001.ulg ...       the vehicle's flight logs
    /params/NAME.params       the parameters that it saved
    /etc/extras/NAME.json.xz  component metadata
    /...                      files and folders that clients made (written.py)

The first three can only be read. A path is looked up among those names and never put together
into a path of the disk, so a client cannot leave the tree. Errors are PX4's.
https://mavlink.io/en/services/ftp.html
"""

import errno
import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xtdrone_core.mavlink.checksum import crc32
from xtdrone_core.mavlink.dialect import MavlinkMessage, mavlink
from xtdrone_core.mavlink.ftp import DATA_SIZE, HEADER, PAYLOAD_SIZE, FtpError, Opcode

from ...state.handlers import receives
from ..description import metadata
from ..links import MAX_PEERS, Address, Link, Links
from .written import Path as WrittenPath, WrittenFiles

BURST = 20  # messages that answer one burst request; the client then requests more
_BLOCK = 1 << 20  # bytes read at once for a checksum
_SESSIONS = 8 * MAX_PEERS  # most sessions of all vehicles together

_ERRNO_ERRORS = {
    errno.EEXIST: bytes((FtpError.FILEEXISTS,)),
    errno.ENOENT: bytes((FtpError.FILENOTFOUND,)),
}
_PROTECTED_FOLDERS = ("log", "params", "etc")


class _Refused(Exception):
    """An error, reported to the client by its number."""

    def __init__(self, error: int) -> None:
        super().__init__(error)
        self.error = error


_File = Path | bytes | bytearray
_Key = tuple[int, int, Address | None]  # link kind, vehicle, address of the client


@dataclass
class _Session:
    """A file that one client has open: no more of it is read than there was at first."""

    file: _File
    size: int
    to_write: bool = False


class FileServer:
    """Answers FILE_TRANSFER_PROTOCOL on the links of a fleet."""

    def __init__(
        self,
        log: Any,  # a FleetLog, of a package at the side of this one
        parameter_files: Sequence[Path] | None,
        links: Links,
    ) -> None:
        """A server of a fleet's files.

        Args:
            log: Its FleetLog, or None.
            parameter_files: One for each vehicle, where it saves its parameters, or None.
            links: Its Links.
        """
        self._log, self._parameter_files, self._links = log, parameter_files, links
        self._sessions: dict[_Key, _Session] = {}
        self._written: defaultdict[int, WrittenFiles] = defaultdict(WrittenFiles)  # by vehicle

    @property
    def n_open(self) -> int:
        """Number of files that clients have open."""
        return len(self._sessions)

    @receives("FILE_TRANSFER_PROTOCOL")
    def handle(self, link: Link, message: MavlinkMessage) -> None:
        """Answers one request that names this vehicle."""
        if message.target_system != link.system:
            return
        payload = bytes(message.payload)
        sequence, session, opcode, size, _, _, offset = HEADER.unpack_from(payload)
        key = link.kind, link.vehicle, link.sender
        try:
            if size > DATA_SIZE:
                raise _Refused(FtpError.INVALIDDATASIZE)
            parts = self._answer(
                key, opcode, payload[HEADER.size : HEADER.size + size], size, offset
            )
        except _Refused as refused:
            parts = [(Opcode.NAK, offset, bytes((refused.error,)))]
        except OSError as error:
            parts = [
                (
                    Opcode.NAK,
                    offset,
                    _ERRNO_ERRORS.get(
                        error.errno or 0, bytes((FtpError.FAILERRNO, error.errno or 0))
                    ),
                )
            ]
        for k, (kind, at, data) in enumerate(parts):
            ends = opcode == Opcode.BURSTREADFILE and k == len(parts) - 1
            last = ends and kind == Opcode.ACK  # a refusal is no burst
            head = HEADER.pack(
                sequence + 1 + k & 0xFFFF, session, kind, len(data), opcode, last, at
            )
            self._links.reply(
                link,
                mavlink.MAVLink_file_transfer_protocol_message(
                    0,
                    message.get_srcSystem(),
                    message.get_srcComponent(),
                    (head + data).ljust(PAYLOAD_SIZE, b"\0"),
                ),
            )

    def _answer(
        self, key: _Key, opcode: int, data: bytes, size: int, offset: int
    ) -> list[tuple[int, int, bytes]]:
        """The messages of the reply: (ACK or NAK, offset, data) of each."""
        if opcode == Opcode.LISTDIRECTORY:
            return [(Opcode.ACK, offset, self._entries(key[1], data, offset))]
        if opcode in (Opcode.OPENFILERO, Opcode.CREATEFILE, Opcode.OPENFILEWO):
            return [(Opcode.ACK, 0, struct.pack("<I", self._open(key, opcode, data)))]
        if opcode == Opcode.CALCFILECRC:
            return [(Opcode.ACK, 0, struct.pack("<I", self._crc(key[1], data)))]
        if opcode == Opcode.READFILE:
            return [(Opcode.ACK, offset, self._read(key, offset, size or DATA_SIZE))]
        if opcode == Opcode.BURSTREADFILE:
            size = size or DATA_SIZE
            data = self._read(key, offset, BURST * size)
            return [(Opcode.ACK, offset + k, data[k : k + size]) for k in range(0, len(data), size)]
        if opcode == Opcode.WRITEFILE:
            self._write(key, offset, data)
            return [(Opcode.ACK, offset, struct.pack("<I", len(data)))]
        if opcode in (Opcode.TERMINATESESSION, Opcode.RESETSESSION):
            self._sessions.pop(key, None)
        elif opcode != Opcode.NONE:
            self._change(key[1], opcode, data, offset)
        return [(Opcode.ACK, 0, b"")]

    def _change(self, i: int, opcode: int, data: bytes, offset: int) -> None:
        """Makes, removes, renames or cuts what clients of vehicle i have written."""
        written = self._written[i]
        if opcode == Opcode.RENAME:
            old, _, new = data.partition(b"\0")
            written.rename(self._writable(old), self._writable(new))
            return
        if opcode == Opcode.TRUNCATEFILE:
            written.truncate(self._writable(data), offset)
            return
        changes: dict[int, Callable[[WrittenPath], None]] = {
            Opcode.CREATEDIRECTORY: written.make_folder,
            Opcode.REMOVEDIRECTORY: written.remove_folder,
            Opcode.REMOVEFILE: written.remove,
        }
        if opcode not in changes:
            raise _Refused(FtpError.UNKNOWNCOMMAND)
        changes[opcode](self._writable(data))

    def _writable(self, data: bytes) -> WrittenPath:
        """The names of a path that clients may change."""
        names = tuple(self._names(data))
        if not names or names[0] in _PROTECTED_FOLDERS:
            raise _Refused(FtpError.FILEPROTECTED)
        return names

    def _tree(self, i: int) -> dict[WrittenPath, dict[str, _File | None]]:
        """Path of a folder, as its names -> (name -> file or None, a folder) of vehicle i."""
        logs = [] if self._log is None else self._log.files(i)
        saved = [] if self._parameter_files is None else [self._parameter_files[i]]
        tree: dict[WrittenPath, dict[str, _File | None]] = {("log",): {}, ("params",): {}}
        for folder, paths in (("log", logs), ("params", saved)):
            tree[folder,] = {
                path.name: path for path in paths if path.is_file() and not path.is_symlink()
            }
        for path, data in metadata.files().items():
            *parents, name = path.split("/")
            tree.setdefault(tuple(parents), {})[name] = data
        written = self._written[i].entries if i in self._written else {}
        for (*parents, name), content in written.items():
            if content is None:
                tree.setdefault((*parents, name), {})
            else:
                tree.setdefault(tuple(parents), {})[name] = content
        for names in list(tree):
            for k in range(len(names)):
                tree.setdefault(names[:k], {})[names[k]] = None
        return tree

    @staticmethod
    def _names(data: bytes) -> list[str]:
        """The names that make up a path."""
        text = data.split(b"\0")[0].decode("utf-8", "replace")
        return [name for name in text.split("/") if name not in ("", ".")]

    def _entries(self, i: int, data: bytes, offset: int) -> bytes:
        """Returns as many entries of a folder as fit, from number `offset` on."""
        folder = self._tree(i).get(tuple(self._names(data)))
        if folder is None:
            raise _Refused(FtpError.FILENOTFOUND)
        lines = [
            f"D{name}" if file is None else f"F{name}\t{_size(file)}"
            for name, file in folder.items()
        ]
        if offset >= len(lines):
            raise _Refused(FtpError.EOF)
        out = b""
        for line in lines[offset:]:
            entry = line.encode() + b"\0"
            if len(out) + len(entry) > DATA_SIZE:
                break
            out += entry
        return out

    def _file(self, i: int, data: bytes) -> _File:
        """The file of vehicle i that a path names; what was logged so far is in it."""
        names = self._names(data)
        if len(names) == 2 and names[0] == "log" and self._log is not None:
            self._log.flush(i)
        file = self._tree(i).get(tuple(names[:-1]), {}).get(names[-1]) if names else None
        if file is None:
            raise _Refused(FtpError.FILENOTFOUND)
        return file

    def _open(self, key: _Key, opcode: int, data: bytes) -> int:
        """Opens a file and closes the client's previous one; returns its size."""
        to_write = opcode != Opcode.OPENFILERO
        file: _File
        if to_write:
            file = written = self._written[key[1]].open(self._writable(data))
            if opcode == Opcode.CREATEFILE:
                written.clear()
        else:
            file = self._file(key[1], data)
        self._sessions.pop(key, None)
        if len(self._sessions) >= _SESSIONS:
            del self._sessions[next(iter(self._sessions))]  # the oldest
        self._sessions[key] = _Session(file, _size(file), to_write)
        return self._sessions[key].size

    def _write(self, key: _Key, offset: int, data: bytes) -> None:
        session = self._sessions.get(key)
        if session is None:
            raise _Refused(FtpError.INVALIDSESSION)
        if not session.to_write or not isinstance(session.file, bytearray):
            raise OSError(errno.EBADF, "opened for reading")
        self._written[key[1]].write(session.file, offset, data)

    def _read(self, key: _Key, offset: int, size: int) -> bytes:
        session = self._sessions.get(key)
        if session is None:
            raise _Refused(FtpError.INVALIDSESSION)
        if offset >= session.size:
            raise _Refused(FtpError.EOF)
        return _read(session.file, offset, min(size, session.size - offset))

    def _crc(self, i: int, data: bytes) -> int:
        file, crc, at = self._file(i, data), 0, 0
        while block := _read(file, at, _BLOCK):
            crc = crc32(block, crc)
            at += len(block)
        return crc


def _size(file: _File) -> int:
    return file.stat().st_size if isinstance(file, Path) else len(file)


def _read(file: _File, offset: int, size: int) -> bytes:
    if not isinstance(file, Path):
        return bytes(file[offset : offset + size])
    with open(file, "rb") as opened:
        opened.seek(offset)
        return opened.read(size)
