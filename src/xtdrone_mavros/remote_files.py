"""Files of a vehicle over MAVLink FTP, with the errors of MAVROS's services.

https://mavlink.io/en/services/ftp.html
"""

import errno
import threading

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_core.mavlink.ftp import DATA_SIZE, HEADER, PAYLOAD_SIZE, FtpError, Opcode

from .mavlink_link import FleetLink
from .requests import LinkTransport
from .rows import Fields

WAIT_S = 1.0  # time-out of an answer [s]
# MAVROS's errno for the other errors; for those that are not here the last one stays.
_ERRNO: dict[int, int] = {
    FtpError.FAIL: errno.EFAULT,
    FtpError.INVALIDDATASIZE: errno.EMSGSIZE,
    FtpError.INVALIDSESSION: errno.EBADFD,
    FtpError.NOSESSIONSAVAILABLE: errno.EMFILE,
    FtpError.UNKNOWNCOMMAND: errno.ENOSYS,
}


class RemoteFiles:
    """Files of one vehicle. A failure gives None or False; one call at a time.

    Attributes:
        error: errno as MAVROS's services return it: 0 after a success.
        sessions: Path -> session of the open files.
        lock: Held by a caller for the time of its call.
    """

    def __init__(self, link: FleetLink, i: int):
        """link: to the fleet. i: index of the vehicle."""
        self.error = 0
        self.sessions: dict[str, int] = {}
        self.lock = threading.Lock()
        self._transport, self._vehicle = LinkTransport(link, i), i + 1
        self._sequence = 0

    def list(self, path: str) -> list[Fields] | None:
        """Returns the entries of a folder, as the fields of mavros_msgs/FileEntry."""
        files: list[Fields] = []
        offset = 0
        while True:
            data = self._ask(Opcode.LISTDIRECTORY, offset=offset, data=path.encode())
            if data is None:
                return None
            entries = data.split(b"\0")[:-1]
            if not entries:
                return files
            offset += len(entries)
            for entry in entries:
                name, _, size = entry[1:].decode(errors="replace").partition("\t")
                if entry[:1] in (b"F", b"D"):
                    files.append(dict(name=name, type=int(entry[:1] == b"D"), size=int(size or 0)))

    def open(self, path: str, mode: int) -> int | None:
        """Opens a file by FileOpen's mode; returns its size [bytes]."""
        code = {0: Opcode.OPENFILERO, 1: Opcode.OPENFILEWO, 2: Opcode.CREATEFILE}.get(mode)
        if code is None:
            self.error = errno.EINVAL
            return None
        data = self._ask(code, data=path.encode())
        if data is None:
            return None
        self.sessions[path] = self._session
        return int.from_bytes(data[:4], "little")

    def close(self, path: str) -> bool:
        """Closes an open file."""
        session = self.sessions.pop(path, None)
        if session is None:
            self.error = errno.EBADF
            return False
        return self._ask(Opcode.TERMINATESESSION, session) is not None

    def read(self, path: str, offset: int, size: int) -> bytes | None:
        """Reads up to size bytes of an open file."""
        session = self.sessions.get(path)
        if session is None:
            self.error = errno.EBADF
            return None
        out = b""
        while True:
            data = self._ask(Opcode.READFILE, session, offset + len(out))
            if data is None:
                return None
            out += data
            if len(data) < DATA_SIZE or len(out) >= size:
                return out[:size]

    def write(self, path: str, offset: int, data: bytes) -> bool:
        """Writes into an open file."""
        session = self.sessions.get(path)
        if session is None:
            self.error = errno.EBADF
            return False
        return all(
            self._ask(Opcode.WRITEFILE, session, offset + k, data[k : k + DATA_SIZE]) is not None
            for k in range(0, len(data), DATA_SIZE)
        )

    def checksum(self, path: str) -> int | None:
        """Returns the CRC-32 of a file."""
        data = self._ask(Opcode.CALCFILECRC, data=path.encode())
        return None if data is None else int.from_bytes(data[:4], "little")

    def remove(self, path: str) -> bool:
        """Removes a file."""
        return self._ask(Opcode.REMOVEFILE, data=path.encode()) is not None

    def rename(self, old: str, new: str) -> bool:
        """Renames a file or folder."""
        data = old.encode() + b"\0" + new.encode()
        if len(data) >= DATA_SIZE:
            self.error = errno.ENAMETOOLONG
            return False
        return self._ask(Opcode.RENAME, data=data) is not None

    def truncate(self, path: str, length: int) -> bool:
        """Truncates a file to a length [bytes]."""
        return self._ask(Opcode.TRUNCATEFILE, offset=length, data=path.encode()) is not None

    def make_folder(self, path: str) -> bool:
        """Makes a folder."""
        return self._ask(Opcode.CREATEDIRECTORY, data=path.encode()) is not None

    def remove_folder(self, path: str) -> bool:
        """Removes a folder."""
        return self._ask(Opcode.REMOVEDIRECTORY, data=path.encode()) is not None

    def reset(self) -> None:
        """Closes all files."""
        self.sessions.clear()
        self._ask(Opcode.RESETSESSION)

    def _ask(
        self, opcode: int, session: int = 0, offset: int = 0, data: bytes = b""
    ) -> bytes | None:
        """Returns the data of the answer to a request; b'' also at the end of a file or list."""
        self._sequence = self._sequence + 1 & 0xFFFF
        head = HEADER.pack(self._sequence, session, opcode, len(data), 0, 0, offset)
        request = mavlink.MAVLink_file_transfer_protocol_message(
            0,
            self._vehicle,
            mavlink.MAV_COMP_ID_AUTOPILOT1,
            (head + data).ljust(PAYLOAD_SIZE, b"\0"),
        )
        with self._transport.listen("FILE_TRANSFER_PROTOCOL") as receive:
            self._transport.send(request)
            while True:
                message = receive(WAIT_S)
                if message is None:
                    self.error = errno.ETIMEDOUT
                    return None
                payload = bytes(message.payload)
                sequence, self._session, code, size, *_ = HEADER.unpack_from(payload)
                if sequence == self._sequence + 1 & 0xFFFF:
                    break
        self._sequence = sequence
        data = payload[HEADER.size : HEADER.size + size]
        if code == Opcode.ACK:
            self.error = 0
            return data
        if opcode in (Opcode.LISTDIRECTORY, Opcode.READFILE) and data[:1] == bytes((FtpError.EOF,)):
            self.error = 0
            return b""
        if data[:1] == bytes((FtpError.FAILERRNO,)):
            self.error = data[1]
        else:
            self.error = _ERRNO.get(data[0] if data else 0, self.error)
        return None
