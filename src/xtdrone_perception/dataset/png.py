"""PNG files of 16 bits, which KITTI has for depth and flow; Pillow writes no such colours."""

import struct
import zlib
from pathlib import Path

import numpy as np

_HEAD = b"\x89PNG\r\n\x1a\n"
_FAST = 1  # zlib's level
_PER_METRE = 256.0  # KITTI's steps of depth
_PER_PIXEL = 64.0  # KITTI's steps of flow
_ZERO = 32768.0  # no flow
_MOST = 65535.0


def write(path: Path, levels: np.ndarray) -> None:
    """Writes an image (H, W) or (H, W, 3) uint16."""
    height, width = levels.shape[:2]
    rows = levels.astype(">u2").reshape(height, -1).view(np.uint8)
    lines = np.zeros((height, rows.shape[1] + 1), dtype=np.uint8)  # each begins with its filter
    lines[:, 1:] = rows
    colour = 2 if levels.ndim == 3 else 0
    head = struct.pack(">IIBBBBB", width, height, 16, colour, 0, 0, 0)
    path.write_bytes(
        _HEAD
        + _chunk(b"IHDR", head)
        + _chunk(b"IDAT", zlib.compress(lines.tobytes(), _FAST))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_depth(path: Path, depth: np.ndarray) -> None:
    """Writes depths (H, W) along the axis [m] as KITTI does: 256 steps a metre, 0 for nothing."""
    steps = np.where(np.isfinite(depth), _PER_METRE * depth, 0.0)
    write(path, np.minimum(steps + 0.5, _MOST).astype(np.uint16))


def write_flow(path: Path, flow: np.ndarray) -> None:
    """Writes optical flow (H, W, 2) [pixels] as KITTI does: u, v and whether it is known."""
    known = np.isfinite(flow[:, :, 0])
    levels = np.zeros((*flow.shape[:2], 3), dtype=np.uint16)
    scaled = np.clip(_PER_PIXEL * np.where(known[:, :, None], flow, 0.0) + _ZERO + 0.5, 0.0, _MOST)
    levels[:, :, :2] = scaled.astype(np.uint16)
    levels[:, :, 2] = known
    write(path, levels)
