"""What a lens does to luminance: vignetting, chromatic aberration, bloom; and smooth edges."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

_BRIGHTEST = 2e7  # luminance of what blooms; more, as the sun has, would hide the image [cd/m^2]
_SPREAD = 0.025  # standard deviation of bloom, in widths of the image
COARSE = 4  # glow is computed at so many times coarser pixels


@njit(nogil=True)
def halved(image: np.ndarray) -> np.ndarray:
    """The means of two by two pixels of an image (2 h, 2 w, 3)."""
    h, w = image.shape[0] // 2, image.shape[1] // 2
    out = np.empty((h, w, 3), dtype=np.float32)
    for v in range(h):
        for u in range(w):
            for c in range(3):
                out[v, u, c] = 0.25 * (
                    image[2 * v, 2 * u, c]
                    + image[2 * v, 2 * u + 1, c]
                    + image[2 * v + 1, 2 * u, c]
                    + image[2 * v + 1, 2 * u + 1, c]
                )
    return out


@njit(nogil=True)
def vignetted(image: np.ndarray, strength: float, left: float, bottom: float, pixel: float) -> None:
    """Darkens an image towards its edges by cos^(4 strength) of the angle from the axis, in place.

    The cosine law of illumination; 1 is that of a simple lens. left, bottom, pixel: see
    normals_of().
    """
    for v in range(image.shape[0]):
        y = bottom + (v + 0.5) * pixel
        for u in range(image.shape[1]):
            x = left + (u + 0.5) * pixel
            fraction = (1.0 + x * x + y * y) ** (-2.0 * strength)
            for c in range(3):
                image[v, u, c] *= fraction


@njit(nogil=True)
def fringed(
    image: np.ndarray, amount: float, left: float, bottom: float, pixel: float
) -> np.ndarray:
    """Lateral chromatic aberration: red is larger than green by a fraction, and blue smaller."""
    h, w = image.shape[:2]
    out = image.copy()
    cx, cy = -left / pixel - 0.5, -bottom / pixel - 0.5  # optical axis [pixels]
    for c in (0, 2):
        scale = 1.0 / (1.0 + amount) if c == 0 else 1.0 / (1.0 - amount)
        for v in range(h):
            y = min(max(cy + (v - cy) * scale, 0.0), h - 1.0)
            j = min(int(y), h - 2)
            b = y - j
            for u in range(w):
                x = min(max(cx + (u - cx) * scale, 0.0), w - 1.0)
                i = min(int(x), w - 2)
                a = x - i
                out[v, u, c] = (image[j, i, c] * (1.0 - a) + image[j, i + 1, c] * a) * (1.0 - b) + (
                    image[j + 1, i, c] * (1.0 - a) + image[j + 1, i + 1, c] * a
                ) * b
    return out


def bloomed(image: np.ndarray, fraction: float) -> np.ndarray:
    """Scatters a fraction of the light around where it falls; bright things glow."""
    glow = coarse(image)
    sigma = max(_SPREAD * glow.shape[1], 0.5)
    reach = math.ceil(3.0 * sigma)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    weights = (weights / weights.sum()).astype(np.float32)
    glow = _spread(_spread(glow, weights).transpose(1, 0, 2), weights).transpose(1, 0, 2)
    return added(image, np.ascontiguousarray(glow), 1.0 - fraction, fraction)


@njit(nogil=True)
def coarse(image: np.ndarray) -> np.ndarray:
    """The means of COARSE by COARSE pixels, of what blooms."""
    h, w = -(-image.shape[0] // COARSE), -(-image.shape[1] // COARSE)
    out = np.zeros((h, w, 3), dtype=np.float32)
    counts = np.zeros((h, w))
    for v in range(image.shape[0]):
        for u in range(image.shape[1]):
            counts[v // COARSE, u // COARSE] += 1.0
            for c in range(3):
                out[v // COARSE, u // COARSE, c] += min(image[v, u, c], _BRIGHTEST)
    for v in range(h):
        for u in range(w):
            for c in range(3):
                out[v, u, c] /= counts[v, u]
    return out


@njit(nogil=True)
def _spread(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The image, smoothed along its rows; beyond its edges it goes on as at them."""
    h, w = image.shape[:2]
    reach = len(weights) // 2
    out = np.empty((h, w, 3), dtype=np.float32)
    for v in range(h):
        for u in range(w):
            r, g, b = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            for k in range(len(weights)):
                uu = min(max(u + k - reach, 0), w - 1)
                r += weights[k] * image[v, uu, 0]
                g += weights[k] * image[v, uu, 1]
                b += weights[k] * image[v, uu, 2]
            out[v, u, 0], out[v, u, 1], out[v, u, 2] = r, g, b
    return out


@njit(nogil=True)
def added(image: np.ndarray, glow: np.ndarray, kept: float, fraction: float) -> np.ndarray:
    """Adds fractions of an image and of a glow at COARSE times coarser pixels, see coarse()."""
    h, w = image.shape[:2]
    rows, columns = glow.shape[:2]
    out = np.empty_like(image)
    for v in range(h):
        y = min(max((v + 0.5) / COARSE - 0.5, 0.0), rows - 1.0)
        j = min(int(y), max(rows - 2, 0))
        m, b = min(j + 1, rows - 1), y - j
        for u in range(w):
            x = min(max((u + 0.5) / COARSE - 0.5, 0.0), columns - 1.0)
            i = min(int(x), max(columns - 2, 0))
            k, a = min(i + 1, columns - 1), x - i
            for c in range(3):
                around = (glow[j, i, c] * (1.0 - a) + glow[j, k, c] * a) * (1.0 - b) + (
                    glow[m, i, c] * (1.0 - a) + glow[m, k, c] * a
                ) * b
                out[v, u, c] = kept * image[v, u, c] + fraction * around
    return out
