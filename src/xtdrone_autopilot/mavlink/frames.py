"""MAVLink 2 frames of a whole fleet: the wire layout of messages, and their encoding."""

from dataclasses import dataclass

import numpy as np

from xtdrone_core.mavlink.dialect import mavlink
from xtdrone_dynamics.compiled import fleet_kernel, njit

GAUSS = 1e4  # per tesla
_NUMPY_TYPE = {
    "float": "<f4",
    "double": "<f8",
    "char": "u1",
    "int8_t": "i1",
    "uint8_t": "u1",
    "int16_t": "<i2",
    "uint16_t": "<u2",
    "int32_t": "<i4",
    "uint32_t": "<u4",
    "int64_t": "<i8",
    "uint64_t": "<u8",
}


@dataclass(frozen=True)
class Layout:
    """Wire layout of one message."""

    id: int
    crc_extra: int
    dtype: np.dtype


def layout(name: str) -> Layout:
    """The wire layout of a message of the common dialect."""
    message = mavlink.mavlink_map[getattr(mavlink, f"MAVLINK_MSG_ID_{name}")]
    kinds = dict(zip(message.fieldnames, message.fieldtypes))
    sizes = dict(zip(message.ordered_fieldnames, message.array_lengths))
    fields = [
        (field, _NUMPY_TYPE[kinds[field]]) + (((sizes[field],),) if sizes[field] else ())
        for field in message.ordered_fieldnames
    ]
    return Layout(message.id, message.crc_extra, np.dtype(fields))


def _crc_tables() -> np.ndarray:
    """(8, 256) int32: what a byte contributes to the CRC once k further bytes have followed."""
    tables = np.zeros((8, 256), dtype=np.int32)
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x8408 if crc & 1 else 0)
        tables[0, byte] = crc
    for k in range(1, 8):
        tables[k] = tables[k - 1] >> 8 ^ tables[0, tables[k - 1] & 0xFF]
    return tables


_CRC = _crc_tables()


@njit
def frame_crc(buffer: np.ndarray, start: int, end: int, extra: int) -> int:
    """CRC-16/MCRF4XX of buffer[start:end] and one byte more.

    Eight bytes at a time, since each look-up waits for the CRC before it.
    """
    crc, k = 0xFFFF, start
    while k + 8 <= end:
        crc = (
            _CRC[7, buffer[k] ^ (crc & 0xFF)]
            ^ _CRC[6, buffer[k + 1] ^ (crc >> 8)]
            ^ _CRC[5, buffer[k + 2]]
            ^ _CRC[4, buffer[k + 3]]
            ^ _CRC[3, buffer[k + 4]]
            ^ _CRC[2, buffer[k + 5]]
            ^ _CRC[1, buffer[k + 6]]
            ^ _CRC[0, buffer[k + 7]]
        )
        k += 8
    while k < end:
        crc = crc >> 8 ^ _CRC[0, (crc ^ buffer[k]) & 0xFF]
        k += 1
    return crc >> 8 ^ _CRC[0, (crc ^ extra) & 0xFF]


@fleet_kernel
def append_frames(
    payload: np.ndarray,
    message_id: int,
    crc_extra: int,
    chosen: np.ndarray,
    systems: np.ndarray,
    sequence: np.ndarray,
    out: np.ndarray,
    length: np.ndarray,
) -> None:
    """Appends a frame to out[i] of each chosen vehicle, zeros at the payload's end left out.

    systems (N,) are the MAVLink system ids.
    """
    for i in range(payload.shape[0]):
        if not chosen[i]:
            continue
        size = payload.shape[1]
        while size > 1 and payload[i, size - 1] == 0:
            size -= 1
        at = length[i]
        if at + size + 12 > out.shape[1]:
            continue
        row = out[i]
        row[at] = 0xFD
        row[at + 1] = size
        row[at + 2] = 0
        row[at + 3] = 0
        row[at + 4] = sequence[i]
        row[at + 5] = systems[i]
        row[at + 6] = 1
        row[at + 7] = message_id & 0xFF
        row[at + 8] = message_id >> 8 & 0xFF
        row[at + 9] = message_id >> 16 & 0xFF
        for k in range(size):
            row[at + 10 + k] = payload[i, k]
        crc = frame_crc(row, at + 1, at + 10 + size, crc_extra)
        row[at + 10 + size] = crc & 0xFF
        row[at + 11 + size] = crc >> 8
        length[i] = at + 12 + size
        sequence[i] = (sequence[i] + 1) & 0xFF
