"""The libraries that an ELF file names."""

import struct

NEEDED, STRING_TABLE = 1, 5  # tags of the dynamic section
LOAD, DYNAMIC = 1, 2  # types of segments


def needed(path) -> list[str]:
    """DT_NEEDED of a shared library, 64-bit and little-endian."""
    data = path.read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01", f"{path} is no ELF file of this kind"
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count)]
    dynamic = next(row for row in segments if row[0] == DYNAMIC)
    entries = list(struct.iter_unpack("<qQ", data[dynamic[2] : dynamic[2] + dynamic[5]]))
    address = next(value for tag, value in entries if tag == STRING_TABLE)
    strings = next(
        offset + address - virtual
        for kind, _, offset, virtual, _, length in segments
        if kind == LOAD and virtual <= address < virtual + length
    )
    return [
        data[strings + value : data.index(b"\0", strings + value)].decode()
        for tag, value in entries
        if tag == NEEDED
    ]
