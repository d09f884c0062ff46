"""The sky as a map of luminance: a gradient by single scattering, clouds, overcast, night."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from xtdrone_dynamics.compiled import njit

from . import sun

_ROWS, _COLUMNS = 256, 1280  # size of the map; rows are closer together near the horizon
_FORWARD = 0.76  # Henyey and Greenstein's asymmetry of haze
_HAZE_BRIGHT = 0.9  # single-scattering albedo of haze
_AGAIN = 0.9  # fraction of the scattered light that is scattered again, about evenly
_NIGHT = np.array([0.006, 0.008, 0.014])  # luminance with half a moon [cd/m^2]
_OVERCAST = np.array([0.93, 0.97, 1.0])
_CLOUDS = 0.45  # fraction of the sky on a clear day
_OCTAVES = 6
_SEED = 7


@dataclass(frozen=True)
class Sky:
    """What lights a world from above.

    Attributes:
        map: (rows, columns, 3) luminance; row r is at elevation pi/2 (r / (rows - 1))^2, column c
            at azimuth 2 pi c / columns, counter-clockwise from east [cd/m^2].
        towards: (3,) unit vector to the sun.
        sun: (3,) its illuminance on a surface that faces it [lux].
        ambient: (3,) illuminance of a level surface by the sky alone [lux].
    """

    map: np.ndarray
    towards: np.ndarray
    sun: np.ndarray
    ambient: np.ndarray


def sky_of(towards: np.ndarray, overcast: float = 0.0) -> Sky:
    """Returns the sky for a direction of the sun.

    Args:
        towards: (3,) unit vector to the sun.
        overcast: Fraction of the sky's light that comes through an even cover of cloud, 0..1.
    """
    return _computed(tuple(map(float, towards)), overcast)


@lru_cache(maxsize=4)
def _computed(towards: tuple[float, ...], overcast: float) -> Sky:
    elevation = 0.5 * math.pi * np.linspace(0.0, 1.0, _ROWS)[:, None] ** 2
    azimuth = 2.0 * math.pi * np.arange(_COLUMNS) / _COLUMNS
    x, y = np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth)
    z = np.sin(elevation) + 0.0 * azimuth
    height = math.asin(float(np.clip(towards[2], -1.0, 1.0)))
    clear = _scattered(x, y, z, elevation, towards, height)
    direct = sun.illuminance(height)
    clear = _clouded(clear, x, y, z, towards, direct + 0.25 * sun.above(height))
    level = _level(clear, elevation) + direct * max(towards[2], 0.0)
    # CIE's overcast sky: three times brighter at the zenith than at the horizon.
    grey = (
        0.3 * level.mean() * _OVERCAST * 9.0 / (7.0 * math.pi) * ((1.0 + 2.0 * z) / 3.0)[:, :, None]
    )
    total = (1.0 - overcast) * clear + overcast * grey + _NIGHT
    return Sky(
        np.ascontiguousarray(total, dtype=np.float32),
        np.asarray(towards, dtype=float),
        (1.0 - overcast) ** 3 * direct,
        _level(total, elevation),
    )


def _scattered(
    x: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    elevation: np.ndarray,
    towards: tuple[float, ...],
    height: float,
) -> np.ndarray:
    """Luminance of clear air: Rayleigh's and haze's single scattering, and some of the second."""
    cosine = x * towards[0] + y * towards[1] + z * towards[2]
    rayleigh = 3.0 / (16.0 * math.pi) * (1.0 + cosine**2)
    g = _FORWARD
    haze = (1.0 - g * g) / (4.0 * math.pi * (1.0 + g * g - 2.0 * g * cosine) ** 1.5)
    depth = sun.RAYLEIGH + sun.HAZE
    scattered = 1.0 - np.exp(-depth * sun.air_mass(elevation)[:, :, None])
    phase = (
        rayleigh[:, :, None] * sun.RAYLEIGH
        + _HAZE_BRIGHT * haze[:, :, None] * sun.HAZE
        + _AGAIN / (4.0 * math.pi) * depth
    ) / depth
    return sun.above(height) * phase * scattered


def _clouded(
    clear: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    towards: tuple[float, ...],
    light: np.ndarray,
) -> np.ndarray:
    """Fair-weather clouds on a level high above, white where the sun reaches them."""
    rng = np.random.default_rng(_SEED)
    grid = rng.random((128, 128))
    u, v = x / (z + 0.12), y / (z + 0.12)
    thick = _puffs(grid, u, v)
    lit = np.clip(
        0.80 + 2.2 * (thick - _puffs(grid, u + 0.06 * towards[0], v + 0.06 * towards[1])), 0.5, 1.25
    )
    cover = np.clip((thick - (1.0 - _CLOUDS)) / 0.22, 0.0, 1.0)
    cover = cover * cover * (3.0 - 2.0 * cover) * (1.0 - np.exp(-((z / 0.10) ** 2))) * 0.92
    white = 0.36 * light / math.pi
    return clear * (1.0 - cover[:, :, None]) + (cover * lit)[:, :, None] * white


def _puffs(grid: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    total: float | np.ndarray = 0.0
    scale, weight = 0.9, 0.0
    for octave in range(_OCTAVES):
        amplitude = 0.55**octave
        total += amplitude * _smooth(grid, scale * u + 17.0 * octave, scale * v + 5.0 * octave)
        weight += amplitude
        scale *= 2.03
    return np.clip(0.5 + 1.9 * (total / weight - 0.5), 0.0, 1.0)


def _smooth(grid: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Value noise of a periodic grid."""
    n = len(grid)
    i, j = np.floor(u).astype(int), np.floor(v).astype(int)
    a, b = u - i, v - j
    a, b = a * a * (3.0 - 2.0 * a), b * b * (3.0 - 2.0 * b)
    i, j = i % n, j % n
    k, m = (i + 1) % n, (j + 1) % n
    return (grid[i, j] * (1 - a) + grid[k, j] * a) * (1 - b) + (
        grid[i, m] * (1 - a) + grid[k, m] * a
    ) * b


def _level(luminance: np.ndarray, elevation: np.ndarray) -> np.ndarray:
    """Illuminance (3,) of a level surface by a map."""
    edges = np.diff(np.sin(elevation[:, 0]) ** 2, append=1.0) * math.pi  # cosine-weighted area
    return (luminance.mean(axis=1) * edges[:, None]).sum(axis=0)


@njit
def sample(sky: np.ndarray, x: float, y: float, z: float, c: int) -> float:
    """Luminance of colour c in the direction of a unit vector; below the horizon as at it."""
    rows, columns = sky.shape[0], sky.shape[1]
    row = math.sqrt(math.asin(min(max(z, 0.0), 1.0)) * (2.0 / math.pi)) * (rows - 1)
    column = math.atan2(y, x) * (columns / (2.0 * math.pi))
    if column < 0.0:
        column += columns
    i, j = min(int(row), rows - 2), min(int(column), columns - 1)
    a, b = row - i, column - j
    k = j + 1 if j + 1 < columns else 0
    return (sky[i, j, c] * (1.0 - a) + sky[i + 1, j, c] * a) * (1.0 - b) + (
        sky[i, k, c] * (1.0 - a) + sky[i + 1, k, c] * a
    ) * b
