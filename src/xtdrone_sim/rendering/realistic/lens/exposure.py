"""Exposure: from luminance to the levels of an image, fixed or automatic."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

_WHITE = 1.2  # luminance that saturates at EV 0 and ISO 100 [cd/m^2] (ISO 2720, q = 0.65)
_MIDDLE = 0.19  # fraction of full scale to which an automatic exposure brings the mean
_QUANTILES = (
    (0.95, 1.0),
    (0.98, 1.2),
)  # fractions of the pixels, and of full scale that they stay below
# Share of the first of them, below which a pixel counts no less: a night's sky brightens nothing.
_DARK = 0.15
_MIN, _MAX = -1.5, 17.0  # exposure values that it chooses from
KNEE = 0.8  # fraction of full scale up to which levels are proportional to luminance
_STEPS = 1 << 14  # entries of the table of levels


def gain_of(exposure_value: float) -> float:
    """Full scales per luminance [m^2/cd] by the exposure value at ISO 100."""
    return 1.0 / (_WHITE * 2.0**exposure_value)


def automatic(luminance: np.ndarray) -> float:
    """The exposure value that puts the mean of log luminance in the middle of the scale,
    but keeps most of the image from saturating.

    Args:
        luminance: (h, w, 3) [cd/m^2].
    """
    some = luminance[::8, ::8, 1].ravel()
    places = [int(quantile * (len(some) - 1)) for quantile, _ in _QUANTILES]
    bright = [float(level) for level in np.partition(some, places)[places]]
    white = max(
        _log_mean(luminance, _DARK * bright[0]) / _MIDDLE,
        *(level / part for level, (_, part) in zip(bright, _QUANTILES, strict=True)),
    )
    return min(max(math.log2(white / _WHITE), _MIN), _MAX)


def encoded() -> np.ndarray:
    """(n,) uint8 sRGB level of each linear value, 0..2; soft from KNEE on."""
    value = 2.0 * np.arange(_STEPS) / (_STEPS - 1)
    room = 1.0 - KNEE
    soft = np.where(value > KNEE, 1.0 - room * np.exp(-(value - KNEE) / room), value)
    level = np.where(soft <= 0.0031308, 12.92 * soft, 1.055 * soft ** (1.0 / 2.4) - 0.055)
    return np.rint(255.0 * np.clip(level, 0.0, 1.0)).astype(np.uint8)


@njit(nogil=True)
def _log_mean(luminance: np.ndarray, minimum: float) -> float:
    total, count = 0.0, 0
    for v in range(0, luminance.shape[0], 4):
        for u in range(0, luminance.shape[1], 4):
            y = (
                0.2126 * luminance[v, u, 0]
                + 0.7152 * luminance[v, u, 1]
                + 0.0722 * luminance[v, u, 2]
            )
            total += math.log(max(y, minimum, 1e-5))
            count += 1
    return math.exp(total / count)


@njit(nogil=True)
def expose(luminance: np.ndarray, gain: float, table: np.ndarray) -> np.ndarray:
    """Levels (h, w, 3) uint8 of luminance (h, w, 3); gain as of gain_of(), table of encoded()."""
    out = np.empty(luminance.shape, dtype=np.uint8)
    last = table.shape[0] - 1
    scale = 0.5 * gain * last
    for v in range(out.shape[0]):
        for u in range(out.shape[1]):
            for c in range(3):
                out[v, u, c] = table[int(min(luminance[v, u, c] * scale + 0.5, float(last)))]
    return out
