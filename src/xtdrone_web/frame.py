"""The binary frame of the page, as static/frame.json describes it."""

import json
from functools import cache
from pathlib import Path

import numpy as np

STATIC = Path(__file__).parent / "static"
_UNKNOWN = ("slot", "set_pos", "set_vel", "voltage", "current", "range", "battery")  # NaN at first


@cache
def layout() -> dict:
    """Returns the content of static/frame.json."""
    return json.loads((STATIC / "frame.json").read_text())


def _dtype(part: str) -> np.dtype:
    return np.dtype(
        [
            (name, f"<{kind}") if count == 1 else (name, f"<{kind}", (count,))
            for name, kind, count, _ in layout()[part]
        ]
    )


HEADER, VEHICLE = _dtype("header"), _dtype("vehicle")


def blank(n: int) -> np.ndarray:
    """Returns records (n,) of VEHICLE without any value yet."""
    records = np.zeros(n, dtype=VEHICLE)
    records["quat"][:, 3] = records["est_quat"][:, 3] = 1.0
    for name in _UNKNOWN:
        records[name] = np.nan
    return records


def pack(records: np.ndarray, t_s: float, wall_s: float, latency: tuple[float, ...]) -> bytes:
    """Returns a whole frame.

    Args:
        records: (n,) of VEHICLE.
        t_s: Simulated time [s].
        wall_s: This process's monotonic clock [s].
        latency: Latency of the sticks, see the header.
    """
    header = np.zeros((), dtype=HEADER)
    header["magic"], header["n"] = layout()["magic"], len(records)
    header["t"], header["wall"], header["latency"] = t_s, wall_s, latency
    return header.tobytes() + records.tobytes()


def pack_past(frames: list[bytes]) -> bytes:
    """Returns several frames in the order of time, for trails and plots after a jump."""
    return np.uint32(layout()["past"]).astype("<u4").tobytes() + b"".join(frames)


def unpack(data: bytes) -> tuple[np.void, np.ndarray]:
    """Returns header and records (n,) of a frame."""
    header = np.frombuffer(data, dtype=HEADER, count=1)[0]
    return header, np.frombuffer(
        data, dtype=VEHICLE, count=int(header["n"]), offset=HEADER.itemsize
    )
