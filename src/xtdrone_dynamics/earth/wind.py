"""Wind: gusts, and Dryden turbulence at low altitude per MIL-F-8785C."""

import math

from ..compiled import njit

FOOT = 0.3048  # [m]
_LOWEST, _HIGHEST = 10.0, 1000.0  # heights that the specification covers [ft]


@njit
def gust(t: float, start: float, duration: float) -> float:
    """Shape of a gust, 0 to 1: one period of 1 - cos; MIL-F-8785C 3.7.2.3 there and back.

    Args:
        t: Time [s].
        start: When it begins [s].
        duration: How long it lasts [s].
    """
    part = (t - start) / duration
    if part <= 0.0 or part >= 1.0:
        return 0.0
    return 0.5 * (1.0 - math.cos(2.0 * math.pi * part))


@njit
def dryden_scales(height: float, wind_20ft: float) -> tuple[float, float, float, float]:
    """Lengths and intensities of turbulence below 1000 ft; MIL-F-8785C 3.7.3.4.

    Args:
        height: Above the ground [m]; counts as 10 to 1000 ft.
        wind_20ft: Mean wind at 20 ft [m/s]; 15 knots is light, 30 moderate, 45 severe.

    Returns:
        (length along and across the wind [m], vertical length [m], sigma along
        and across [m/s], vertical sigma [m/s]).
    """
    feet = min(_HIGHEST, max(_LOWEST, height / FOOT))
    base = 0.177 + 0.000823 * feet
    sigma = 0.1 * wind_20ft
    return feet / base**1.2 * FOOT, feet * FOOT, sigma / base**0.4, sigma


@njit
def dryden_along(state: float, ratio: float, noise: float) -> float:
    """The longitudinal filter over one step, exact; its output has variance 1.

    Discretises 1 / (1 + T s) driven by white noise.

    Args:
        state: Last output.
        ratio: Length of the step over T, where T is scale length over airspeed.
        noise: A standard normal number.

    Returns:
        The output.
    """
    decay = math.exp(-ratio)
    return decay * state + math.sqrt(-math.expm1(-2.0 * ratio)) * noise


@njit
def dryden_across(
    first: float, second: float, ratio: float, noise_1: float, noise_2: float
) -> tuple[float, float, float]:
    """The lateral or vertical filter over one step, exact; its output has variance 1.

    Discretises (1 + sqrt(3) T s) / (1 + T s)^2 driven by white noise, as a chain
    of two first-order lags.

    Args:
        first, second: States of the lags.
        ratio: Length of the step over T, where T is scale length over airspeed.
        noise_1, noise_2: Standard normal numbers.

    Returns:
        (first, second, output).
    """
    decay = math.exp(-ratio)
    square = decay * decay
    # Covariance of what the noise adds to both lags, and its Cholesky factor.
    q11 = 0.5 * (1.0 - square)
    q12 = 0.25 * (1.0 - (1.0 + 2.0 * ratio) * square)
    q22 = 0.25 * (1.0 - (1.0 + 2.0 * ratio + 2.0 * ratio * ratio) * square)
    l11 = math.sqrt(q11)
    l21 = q12 / l11 if l11 > 0.0 else 0.0
    l22 = math.sqrt(max(0.0, q22 - l21 * l21))
    new_second = decay * (second + ratio * first) + l21 * noise_1 + l22 * noise_2
    new_first = decay * first + l11 * noise_1
    return new_first, new_second, (math.sqrt(3.0) * new_first + (1.0 - math.sqrt(3.0)) * new_second)
