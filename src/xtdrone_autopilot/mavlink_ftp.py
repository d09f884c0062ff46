"""MAVLink FTP: there are no files, and whoever asks for one is told so at once.

Clients try it first for parameters and metadata, and fall back to the
parameter protocol when it is refused. Flight logs come by LOG_REQUEST_*.
"""

import struct

from .mavlink_dialect import mavlink

_HEAD = struct.Struct("<HBBBBBxI")  # sequence, session, opcode, size, asked, burst end, offset
_ACK, _NAK = 128, 129
_TERMINATE, _RESET, _LIST, _OPEN, _CRC = 1, 2, 3, 4, 14
_READ, _BURST = 5, 15
_NO_SESSION, _END, _UNKNOWN, _PROTECTED, _NOT_FOUND = 4, 6, 7, 9, 10
_WRITES = frozenset({6, 7, 8, 9, 10, 11, 12, 13})
_ERROR = {_OPEN: _NOT_FOUND, _CRC: _NOT_FOUND, _READ: _NO_SESSION, _BURST: _NO_SESSION}


def answer(payload: bytes) -> bytes:
    """The reply to one request.

    Args:
        payload: Of FILE_TRANSFER_PROTOCOL, at least 12 bytes.

    Returns:
        The payload of the reply: an error, but for the end of sessions and the empty root folder.
    """
    sequence, session, opcode, size, *_ = _HEAD.unpack_from(payload)
    if opcode in (_TERMINATE, _RESET):
        return _HEAD.pack(sequence + 1 & 0xFFFF, session, _ACK, 0, opcode, 0, 0)
    error = _ERROR.get(opcode, _PROTECTED if opcode in _WRITES else _UNKNOWN)
    if opcode == _LIST:
        path = payload[_HEAD.size:_HEAD.size + size].rstrip(b"\0")
        error = _END if path in (b"", b"/") else _NOT_FOUND
    return _HEAD.pack(sequence + 1 & 0xFFFF, session, _NAK, 1, opcode, 0, 0) + bytes((error,))


def reply(message) -> "mavlink.MAVLink_message":
    """The FILE_TRANSFER_PROTOCOL message that answers another one."""
    payload = answer(bytes(message.payload))
    return mavlink.MAVLink_file_transfer_protocol_message(
        0, message.get_srcSystem(), message.get_srcComponent(), payload.ljust(251, b"\0"))
