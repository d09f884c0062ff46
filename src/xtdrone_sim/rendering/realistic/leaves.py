"""Leaves on what stands for the crown of a tree: a smooth shape gets tufts of light and shade."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

_SCALES = 6.0, 19.0  # tufts and leaves per metre
_BRIGHTEST = 0.16  # albedo of a leaf in green light
_TILT = 0.8  # tilt of the normal by tufts and leaves


def is_green(colour: np.ndarray) -> bool:
    """Whether a colour (3,) is that of leaves or grass."""
    red, green, blue = (float(part) for part in colour)
    return green > 1.08 * red and green > 1.2 * blue


@njit(inline="always")
def natural(red: float, green: float, blue: float) -> tuple[float, float, float]:
    """Albedo of a leaf of about a colour: at most a sixth, and some red and blue."""
    green = min(green, _BRIGHTEST)
    return (min(max(red, 0.55 * green), 0.9 * green), green, min(max(blue, 0.25 * green), green))


@njit
def tuft(x: float, y: float, z: float, blur: float) -> tuple[float, float, float, float]:
    """Brightness and tilt of the leaves at a point: a factor around 1, and three slopes.

    Args:
        x, y, z: World [m].
        blur: Side of the pixel there; what is finer fades [m].
    """
    total, tx, ty, tz = 0.0, 0.0, 0.0, 0.0
    for octave in range(2):
        scale = _SCALES[octave]
        seen = math.exp(-((0.7 * scale * blur) ** 2))
        if seen < 0.02:
            break
        a, gx, gy, gz = _noise(x * scale, y * scale, z * scale)
        weight = 0.5 * seen
        total += weight * (a - 0.5)
        tx, ty, tz = tx + weight * gx, ty + weight * gy, tz + weight * gz
    return 1.0 + 1.5 * total, -_TILT * tx, -_TILT * ty, -_TILT * tz


@njit
def _noise(x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """Smooth noise 0..1 and its slopes."""
    i, j, k = math.floor(x), math.floor(y), math.floor(z)
    a, b, c = x - i, y - j, z - k
    sa, sb, sc = a * a * (3.0 - 2.0 * a), b * b * (3.0 - 2.0 * b), c * c * (3.0 - 2.0 * c)
    da, db, dc = 6.0 * a * (1.0 - a), 6.0 * b * (1.0 - b), 6.0 * c * (1.0 - c)
    total, gx, gy, gz = 0.0, 0.0, 0.0, 0.0
    for p in range(2):
        wa, va = (sa, da) if p else (1.0 - sa, -da)
        for q in range(2):
            wb, vb = (sb, db) if q else (1.0 - sb, -db)
            for r in range(2):
                wc, vc = (sc, dc) if r else (1.0 - sc, -dc)
                value = _hashed(i + p, j + q, k + r)
                total += wa * wb * wc * value
                gx += va * wb * wc * value
                gy += wa * vb * wc * value
                gz += wa * wb * vc * value
    return total, gx, gy, gz


@njit(inline="always")
def _hashed(i: int, j: int, k: int) -> float:
    n = (i * 73856093) ^ (j * 19349663) ^ (k * 83492791)
    n = (n ^ (n >> 13)) * 1274126177
    return ((n ^ (n >> 16)) & 0xFFFF) / 65535.0
