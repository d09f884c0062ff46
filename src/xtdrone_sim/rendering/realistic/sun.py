"""The sun: where it stands at an hour of the day, and how bright it is."""

import math

import numpy as np

DECLINATION = math.radians(23.44)  # declination at midsummer in the north, 21 June
SIZE = math.radians(0.267)  # its angular radius
_OUTSIDE = 128e3  # illuminance outside the atmosphere [lux]
# Vertical optical depth of air and of haze on a clear day, red green blue.
RAYLEIGH, HAZE = np.array([0.040, 0.098, 0.250]), np.array([0.05, 0.05, 0.05])
_DUSK = np.array([0.62, 0.72, 1.05])  # colour of twilight
_FADES = math.radians(0.5)  # below this elevation it sets


def towards(hour: float, latitude: float) -> np.ndarray:
    """Unit vector (3,) ENU to the sun on 21 June.

    Args:
        hour: Solar time, 0 to 24; at 12 the sun is highest.
        latitude: [rad].

    Source: sin(elevation) = sin(lat) sin(dec) + cos(lat) cos(dec) cos(hour angle), as in any
    textbook on astronomy.
    """
    turn = math.radians(15.0 * (hour - 12.0))
    sin_d, cos_d = math.sin(DECLINATION), math.cos(DECLINATION)
    sin_l, cos_l = math.sin(latitude), math.cos(latitude)
    return np.array(
        [
            -cos_d * math.sin(turn),
            sin_d * cos_l - cos_d * math.cos(turn) * sin_l,
            sin_d * sin_l + cos_d * math.cos(turn) * cos_l,
        ]
    )


def air_mass(elevation: np.ndarray | float) -> np.ndarray:
    """Air along a line of sight in multiples of the zenith's (Kasten and Young 1989).

    Args:
        elevation: [rad]; below the horizon as at it.
    """
    degrees = np.degrees(np.maximum(elevation, 0.0))
    return 1.0 / (np.sin(np.radians(degrees)) + 0.50572 * (degrees + 6.07995) ** -1.6364)


def illuminance(elevation: float) -> np.ndarray:
    """Illuminance (3,) of a surface that faces the sun, RGB [lux]; 0 below the horizon."""
    risen = min(max(elevation / _FADES + 0.5, 0.0), 1.0)
    return risen * _OUTSIDE * np.exp(-(RAYLEIGH + HAZE) * air_mass(elevation))


def above(elevation: float) -> np.ndarray:
    """Illuminance of the air that is seen, which sunlight reaches on shorter ways [lux].

    Also in twilight.
    """
    night = min(max(1.0 + elevation / math.radians(14.0), 0.0), 1.0) ** 4
    tint = np.exp(-0.22 * (RAYLEIGH + HAZE) * air_mass(elevation))
    # Around sunset only air high above is lit: the light it sends down is blue.
    dusk = min(max((math.radians(4.0) - elevation) / math.radians(9.0), 0.0), 1.0)
    return night * _OUTSIDE * ((1.0 - dusk) * tint + dusk * tint.mean() * _DUSK)
