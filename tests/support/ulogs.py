"""ULogs of a few topics as PX4 writes them: retained samples, tagged texts, a late start."""

import struct
from pathlib import Path

START_US = 1_000_000_000  # PX4 was started a quarter of an hour before the log


def _message(kind: str, body: bytes) -> bytes:
    return struct.pack("<HB", len(body), ord(kind)) + body


def _text(t_us: int, level: int, words: str, tag: int | None = None) -> bytes:
    level = ord("0") + level
    if tag is None:
        return _message("L", struct.pack("<BQ", level, t_us) + words.encode())
    return _message("C", struct.pack("<BHQ", level, tag, t_us) + words.encode())


def write(
    path: Path, retained_us: tuple[int, ...] = (), tagged: bool = False, valid: bool = True
) -> Path:
    """Writes ten seconds of straight flight at 10 Hz.

    Args:
        path: The file.
        retained_us: Time stamps of samples that PX4 retains from before the log's start [us]; the
            first is of the position, too.
        tagged: Whether there are texts with a tag.
        valid: Whether the horizontal position is valid.
    """
    local = "uint64_t timestamp;float x;float y;float z;float vx;float vy;float vz;"
    local += "bool xy_valid;bool z_valid;bool v_xy_valid;bool v_z_valid;"
    flags = valid, True, valid, True
    parts = [
        b"ULog\x01\x12\x35\x01" + struct.pack("<Q", START_US),
        _message("B", bytes(40)),
        _message("F", f"vehicle_local_position:{local}".encode()),
        _message("F", b"manual_control_setpoint:uint64_t timestamp;float roll;uint8_t valid;"),
        _message("A", struct.pack("<BH", 0, 0) + b"vehicle_local_position"),
        _message("A", struct.pack("<BH", 0, 1) + b"manual_control_setpoint"),
        *(_message("D", struct.pack("<HQfB", 1, t_us, 0.0, 0)) for t_us in retained_us),
        *(_message("D", struct.pack("<HQ6f4?", 0, t, *[0.0] * 6, *flags)) for t in retained_us[:1]),
    ]
    if tagged:
        parts.append(_text(START_US + 1000, 4, "tagged warning", 1))
        parts.append(_text(START_US + 3000, 2, "another tag", 2))
    parts.append(_text(START_US + 2000, 6, "plain message"))
    for k in range(100):
        place = 0.1 * k, 0.0, -2.0, 1.0, 0.0, 0.0
        values = struct.pack("<HQ6f4?", 0, START_US + k * 100_000, *place, *flags)
        parts.append(_message("D", values))
    path.write_bytes(b"".join(parts))
    return path
