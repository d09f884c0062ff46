"""The International Standard Atmosphere up to 11 km; Pegasus (8)-(10).

Heights are above mean sea level, taken as geopotential (at 11 km the geometric
height is 19 m more). Above 11 km the air of 11 km is given.
"""

import math

from ..compiled import njit
from ..constants import (
    AIR_GAS_CONSTANT,
    GRAVITY,
    LAPSE_RATE,
    SEA_LEVEL_PRESSURE,
    SEA_LEVEL_TEMPERATURE,
    TROPOPAUSE,
)

_EXPONENT = GRAVITY / (AIR_GAS_CONSTANT * LAPSE_RATE)  # 5.2559; Pegasus rounds it to 5.2561


@njit
def temperature(height: float) -> float:
    """Air temperature [K] at a height [m]; Pegasus (8)."""
    return SEA_LEVEL_TEMPERATURE - LAPSE_RATE * min(height, TROPOPAUSE)


@njit
def pressure(height: float) -> float:
    """Air pressure [Pa] at a height [m]; Pegasus (9) without its noise."""
    return SEA_LEVEL_PRESSURE * (temperature(height) / SEA_LEVEL_TEMPERATURE) ** _EXPONENT


@njit
def density(height: float) -> float:
    """Air density [kg/m^3] at a height [m]."""
    return pressure(height) / (AIR_GAS_CONSTANT * temperature(height))


@njit
def height_of_pressure(value: float) -> float:
    """Height [m] at which the air has a pressure [Pa]: the altimeter's formula."""
    return (
        (1.0 - math.pow(value / SEA_LEVEL_PRESSURE, 1.0 / _EXPONENT))
        * SEA_LEVEL_TEMPERATURE
        / LAPSE_RATE
    )
