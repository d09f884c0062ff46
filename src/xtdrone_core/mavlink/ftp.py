"""MAVLink FTP as both of its ends know it: operations, errors, and the layout of a payload.

https://mavlink.io/en/services/ftp.html
"""

import struct
from enum import IntEnum

from .dialect import mavlink

HEADER = struct.Struct("<HBBBBBxI")  # sequence, session, opcode, size, request, burst end, offset
PAYLOAD_SIZE = 251  # header and data of a message [bytes]
DATA_SIZE = PAYLOAD_SIZE - HEADER.size  # largest data of a message [bytes]


class Opcode(IntEnum):
    """Operations and answers: MAV_FTP_OPCODE."""

    NONE = mavlink.MAV_FTP_OPCODE_NONE
    TERMINATESESSION = mavlink.MAV_FTP_OPCODE_TERMINATESESSION
    RESETSESSION = mavlink.MAV_FTP_OPCODE_RESETSESSION
    LISTDIRECTORY = mavlink.MAV_FTP_OPCODE_LISTDIRECTORY
    OPENFILERO = mavlink.MAV_FTP_OPCODE_OPENFILERO
    READFILE = mavlink.MAV_FTP_OPCODE_READFILE
    CREATEFILE = mavlink.MAV_FTP_OPCODE_CREATEFILE
    WRITEFILE = mavlink.MAV_FTP_OPCODE_WRITEFILE
    REMOVEFILE = mavlink.MAV_FTP_OPCODE_REMOVEFILE
    CREATEDIRECTORY = mavlink.MAV_FTP_OPCODE_CREATEDIRECTORY
    REMOVEDIRECTORY = mavlink.MAV_FTP_OPCODE_REMOVEDIRECTORY
    OPENFILEWO = mavlink.MAV_FTP_OPCODE_OPENFILEWO
    TRUNCATEFILE = mavlink.MAV_FTP_OPCODE_TRUNCATEFILE
    RENAME = mavlink.MAV_FTP_OPCODE_RENAME
    CALCFILECRC = mavlink.MAV_FTP_OPCODE_CALCFILECRC
    BURSTREADFILE = mavlink.MAV_FTP_OPCODE_BURSTREADFILE
    ACK = mavlink.MAV_FTP_OPCODE_ACK
    NAK = mavlink.MAV_FTP_OPCODE_NAK


class FtpError(IntEnum):
    """Reasons of a NAK: MAV_FTP_ERR."""

    NONE = mavlink.MAV_FTP_ERR_NONE
    FAIL = mavlink.MAV_FTP_ERR_FAIL
    FAILERRNO = mavlink.MAV_FTP_ERR_FAILERRNO
    INVALIDDATASIZE = mavlink.MAV_FTP_ERR_INVALIDDATASIZE
    INVALIDSESSION = mavlink.MAV_FTP_ERR_INVALIDSESSION
    NOSESSIONSAVAILABLE = mavlink.MAV_FTP_ERR_NOSESSIONSAVAILABLE
    EOF = mavlink.MAV_FTP_ERR_EOF
    UNKNOWNCOMMAND = mavlink.MAV_FTP_ERR_UNKNOWNCOMMAND
    FILEEXISTS = mavlink.MAV_FTP_ERR_FILEEXISTS
    FILEPROTECTED = mavlink.MAV_FTP_ERR_FILEPROTECTED
    FILENOTFOUND = mavlink.MAV_FTP_ERR_FILENOTFOUND
