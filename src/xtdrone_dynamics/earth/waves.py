"""Waves of deep water: spectra, and Airy's waves that are sampled from them.

A sea is a sum of linear waves, a cos(k x - w t + phase) with w^2 = g k. Pressure, slope and motion
of the water fade with exp(-k depth). Spectra are those of DNV-RP-C205, section 3.5.
"""

import math
from collections.abc import Callable

import numpy as np

from ..compiled import njit

REGULAR, PIERSON_MOSKOWITZ, JONSWAP = "regular", "pierson_moskowitz", "jonswap"
GROWTH = 2.0  # time constant with which waves grow from still water [s]
NUMBER = 48  # of waves that a spectrum becomes
_PEAKEDNESS = 3.3  # of JONSWAP's spectrum, the mean of its measurements
_NARROW, _WIDE = 0.07, 0.09  # widths of its peak, below and above
_BAND = 0.5, 4.0  # frequencies that are sampled, over that of the peak
_WIND = 0.21, 0.877  # height and frequency of a fully developed sea, by wind and gravity

WAVE = np.dtype(
    [
        ("amplitude", "f8"),  # [m]
        ("number", "f8"),  # [rad/m]
        ("frequency", "f8"),  # [rad/s]
        ("east", "f8"),  # unit vector in which it runs
        ("north", "f8"),
        ("phase", "f8"),  # [rad]
    ],
    align=True,
)


def waves_of(
    amplitude: np.ndarray,
    frequency: np.ndarray,
    direction: np.ndarray,
    phase: np.ndarray,
    gravity: float,
) -> np.ndarray:
    """Returns (K,) of WAVE.

    Args:
        amplitude, frequency: (K,) [m], [rad/s].
        direction: (K,) in which each runs, counter-clockwise from east [rad].
        phase: (K,) [rad].
        gravity: [m/s^2].
    """
    waves = np.zeros(len(amplitude), dtype=WAVE)
    waves["amplitude"], waves["frequency"], waves["phase"] = amplitude, frequency, phase
    waves["number"] = np.square(frequency) / gravity
    waves["east"], waves["north"] = np.cos(direction), np.sin(direction)
    return waves


def developed(wind: float, gravity: float) -> tuple[float, float]:
    """Significant height [m] and peak period [s] of a fully developed sea under a wind [m/s]."""
    return _WIND[0] * wind * wind / gravity, math.tau * wind / (_WIND[1] * gravity)


def period_of(height: float, gravity: float) -> float:
    """Peak period [s] of a fully developed sea of a significant height [m]."""
    return developed(math.sqrt(height * gravity / _WIND[0]), gravity)[1]


def pierson_moskowitz(frequency: np.ndarray, height: float, period: float) -> np.ndarray:
    """Density of a fully developed sea at frequencies [rad/s], [m^2 s].

    Args:
        frequency: Above 0 [rad/s].
        height: Significant height [m].
        period: Of the peak [s].
    """
    peak = math.tau / period
    shape = np.exp(-1.25 * (peak / frequency) ** 4) / frequency**5
    return np.asarray(0.3125 * height * height * peak**4 * shape)


def jonswap(frequency: np.ndarray, height: float, period: float) -> np.ndarray:
    """Density of a sea that still grows, as pierson_moskowitz()."""
    peak = math.tau / period
    width = np.where(frequency <= peak, _NARROW, _WIDE)
    raised = _PEAKEDNESS ** np.exp(-0.5 * np.square((frequency - peak) / (width * peak)))
    less = 1.0 - 0.287 * math.log(_PEAKEDNESS)
    return np.asarray(less * raised * pierson_moskowitz(frequency, height, period))


SPECTRA: dict[str, Callable[[np.ndarray, float, float], np.ndarray]] = {
    PIERSON_MOSKOWITZ: pierson_moskowitz,
    JONSWAP: jonswap,
}


def sampled(
    spectrum: str,
    height: float,
    period: float,
    direction: float,
    spread: float,
    random: np.random.Generator,
    gravity: float,
) -> np.ndarray:
    """Waves of a spectrum, which all have the same energy; their heights together are exact.

    Args:
        spectrum: One of SPECTRA, or REGULAR: a single wave of that height from trough to crest.
        height: Significant height [m].
        period: Of the peak [s].
        direction: In which the sea runs, counter-clockwise from east [rad].
        spread: Standard deviation of the directions of its waves [rad].
        random: Of frequencies, directions and phases.
        gravity: [m/s^2].

    Returns:
        (K,) of WAVE.
    """
    peak = math.tau / period
    if spectrum == REGULAR:
        one = np.ones(1)
        phase = random.uniform(0.0, math.tau, 1)
        return waves_of(0.5 * height * one, peak * one, direction * one, phase, gravity)
    fine = np.linspace(_BAND[0] * peak, _BAND[1] * peak, 2000)
    energy = np.cumsum(SPECTRA[spectrum](fine, height, period))
    parts = (np.arange(NUMBER) + random.uniform(0.0, 1.0, NUMBER)) / NUMBER
    frequency = np.interp(parts, energy / energy[-1], fine)
    amplitude = np.full(NUMBER, 0.25 * height * math.sqrt(2.0 / NUMBER))
    directions = direction + spread * random.standard_normal(NUMBER)
    return waves_of(
        amplitude, frequency, directions, random.uniform(0.0, math.tau, NUMBER), gravity
    )


@njit
def surface(
    waves: np.ndarray, t: float, x: float, y: float, depth: float
) -> tuple[float, float, float, float, float, float]:
    """What waves do at a place.

    Args:
        waves: (K,) of WAVE.
        t: Time [s].
        x, y: The place, east and north [m].
        depth: Below the still surface [m]; at 0 the height is that of the surface.

    Returns:
        Height of the water column that the pressure carries above the still surface [m], its slope
        to east and north, and the velocity of the water, east, north and up [m/s].
    """
    height = east = north = along_east = along_north = up = 0.0
    grown = 1.0 - math.exp(-max(0.0, t) / GROWTH)
    for i in range(waves.shape[0]):
        wave = waves[i]
        phase = wave.number * (wave.east * x + wave.north * y) - wave.frequency * t + wave.phase
        size = grown * wave.amplitude * math.exp(-wave.number * max(0.0, depth))
        crest, rise = size * math.cos(phase), size * math.sin(phase)
        height += crest
        east -= wave.number * wave.east * rise
        north -= wave.number * wave.north * rise
        along_east += wave.frequency * wave.east * crest
        along_north += wave.frequency * wave.north * crest
        up += wave.frequency * rise
    return height, east, north, along_east, along_north, up
