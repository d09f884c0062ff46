"""MAVLink's CRC-32: of files, parameters and missions."""

import zlib


def crc32(data: bytes, crc: int = 0) -> int:
    """The CRC-32 of data behind what gave crc; begun with 0, not inverted in the end."""
    return zlib.crc32(data, crc ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
