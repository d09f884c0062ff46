"""Rays of a sensor in its own frame, in packets of neighbours."""

from typing import NamedTuple

import numpy as np

from sensor_models.cameras import CameraParameters
from sensor_models.lens import normalised_coordinates

from ..errors import BatchError

PACKET = 32  # rays that are cast together, in lanes
TILE = 8  # packets that share one walk through the hierarchy


class Pattern(NamedTuple):
    """N rays as whole packets and tiles; the last ray is repeated to fill them."""

    ray: np.ndarray  # (P, 3, PACKET) f4 directions; x forward, y left, z up
    pixel: np.ndarray  # (P, PACKET) u8 which pixel or beam a ray belongs to, ascending
    packet: np.ndarray  # (P, 6) f4 centre and half sides of the box of a packet's directions
    tile: np.ndarray  # (ceil(P / TILE), 6) f4 the same of a tile's
    pixels: int  # N


def pattern_of(directions: np.ndarray) -> Pattern:
    """Packets of rays.

    Args:
        directions: (H, W, 3) of rays side by side; neighbours should have alike directions.
    """
    rows, columns = directions.shape[:2]
    v, u = np.divmod(np.arange(rows * columns), columns)
    order = np.argsort(_interleaved(u) | _interleaved(v) << np.uint64(1), kind="stable")
    packets = -(-len(order) // PACKET)
    order = np.append(order, np.repeat(order[-1:], packets * PACKET - len(order)))
    order = np.sort(order.reshape(packets, PACKET)).ravel()
    sorted_rays = directions.reshape(-1, 3)[order].astype(np.float32)
    ray = np.ascontiguousarray(sorted_rays.reshape(packets, PACKET, 3).transpose(0, 2, 1))
    first = np.arange(0, packets, TILE)
    low, high = ray.min(axis=2), ray.max(axis=2)
    tile = _box(np.minimum.reduceat(low, first), np.maximum.reduceat(high, first))
    return Pattern(
        ray, order.reshape(packets, PACKET).astype(np.uintp), _box(low, high), tile, rows * columns
    )


def camera_rays(camera: CameraParameters) -> np.ndarray:
    """(H, W, 3) directions of a camera's pixels with 1 along its axis, so that a ray's length in
    units of its direction is the depth; lens distortion included.

    Raises:
        BatchError: It sees further from its axis than is rendered.
    """
    x, y = normalised_coordinates(camera)
    if not np.isfinite(x).all():
        raise BatchError(
            f"camera '{camera.name}' sees more than 80 degrees from its axis: give it a longer "
            "focal length, or fewer pixels"
        )
    return np.stack([np.ones_like(x), -x, -y], axis=2)


def _box(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.hstack([0.5 * (low + high), 0.5 * (high - low)]).astype(np.float32)


def _interleaved(number: np.ndarray) -> np.ndarray:
    """Numbers below 2^16 with a zero before each bit: half of a place on Morton's curve."""
    spread = number.astype(np.uint64)
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        spread = (spread | spread << np.uint64(shift)) & np.uint64(mask)
    return spread
