"""Fog and haze: how much of a surface's light arrives, and weather as SDF and scenarios give it."""

import math

from xtdrone_dynamics.compiled import njit

LINEAR, EXPONENTIAL, SQUARED = 0, 1, 2
CONTRAST = 3.912  # -ln(0.02): a dark thing at the visibility is 2 % darker than the fog
_CLEAR = 25e3  # visibility on a clear day [m]
_RAIN = 11.6e3, -0.63  # visibility by rain of 1 mm/h [m], and its exponent


def density_of(visibility: float) -> float:
    """Extinction [1/m] by the visibility [m] (Koschmieder 1924)."""
    return CONTRAST / visibility


def clear() -> tuple[float, float, float, int]:
    """Haze on a clear day, as transmittance() takes it."""
    return density_of(_CLEAR), 0.0, 0.0, EXPONENTIAL


def of_rain(rate: float) -> float:
    """Visibility in rain [m] by its rate [mm/h] (Atlas 1953, Optical extinction by rainfall)."""
    return _RAIN[0] * rate ** _RAIN[1]


@njit
def transmittance(distance: float, density: float, start: float, end: float, kind: int) -> float:
    """Share of a surface's light that arrives through a distance [m], 0..1.

    Args:
        distance: Along the ray [m].
        density: Extinction [1/m], of EXPONENTIAL: exp(-density d), and of SQUARED:
            exp(-(density d)^2).
        start, end: Distances for LINEAR, where fog begins and where nothing arrives [m].
        kind: One of these three.
    """
    if kind == 0:
        return min(max((end - distance) / (end - start), 0.0), 1.0)
    if kind == 1:
        return math.exp(-density * distance)
    return math.exp(-(density * distance) * (density * distance))
