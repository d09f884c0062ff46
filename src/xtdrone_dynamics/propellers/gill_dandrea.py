"""Two explicit models of a propeller in oblique flow; Gill and D'Andrea, Drones 2019, 3, 77.

Forces are coefficients times half density, disc area and (omega R)^2, moments that times R.
"""

import math

import numpy as np

from ..compiled import njit
from .layout import BLADES, LARGEST_RATIO, OWN, RADIUS

Loads = tuple[float, float, float, float, float]


@njit
def ratios(omega: float, radius: float, axial: float, across: float) -> tuple[float, float, float]:
    """Returns (square of the tip's speed [m^2/s^2], advance ratios lambda_c and mu).

    Args:
        omega: Speed of the propeller [rad/s].
        radius: [m].
        axial, across: Velocity relative to the air along and across the thrust [m/s].
    """
    tip = max(omega * radius, 1e-9)
    climb = min(max(axial / tip, -LARGEST_RATIO), LARGEST_RATIO)
    return tip * tip, climb, min(across / tip, LARGEST_RATIO)


@njit
def first(numbers: np.ndarray, at: int, omega: float, axial: float, across: float) -> Loads:
    """Loads by blade elements with linear lift, (27), (33), (37), (42), (47) and (68).

    Args:
        numbers: All propellers' numbers; this one's own are C_l0, C_l_alpha, C_d0, C_d_alpha,
            C_m0, C_m_alpha, delta, theta_tip, and the chord at the tip [m].
        at: Where the propeller begins.
        omega, axial, across: As in ratios().

    Returns:
        (thrust, H-force, torque, rolling and pitching moment), forces over half density and disc
        area, moments over that and the radius [m^2/s^2].
    """
    radius, k = numbers[at + RADIUS], at + OWN
    lift, slope, drag, drag_slope = numbers[k], numbers[k + 1], numbers[k + 2], numbers[k + 3]
    moment, moment_slope, cut, tip = (
        numbers[k + 4],
        numbers[k + 5],
        numbers[k + 6],
        numbers[k + 7],
    )
    chord = numbers[k + 8]
    square, climb, mu = ratios(omega, radius, axial, across)
    sigma = numbers[at + BLADES] * chord / (math.pi * radius)
    mu2, log = mu * mu, math.log(cut)
    # (68): the induced inflow of momentum theory, 4 l_i (l_i + l_c) = C_T.
    linear = slope * sigma * (cut - 1.0)
    under = (
        16.0 * climb * climb
        + 8.0 * climb * linear
        + (cut - 1.0)
        * sigma
        / cut
        * (
            -8.0 * lift * cut * (1.0 + cut)
            + slope * (slope * (cut - 1.0) * cut * sigma - 8.0 * (2.0 * cut + mu2) * tip)
        )
        - 8.0 * lift * sigma * log * mu2
    )
    inflow = climb + 0.125 * (-4.0 * climb + linear + math.sqrt(max(under, 0.0)))
    thrust = (
        sigma
        / (2.0 * cut)
        * (
            (1.0 - cut)
            * (lift * cut * (1.0 + cut) - 2.0 * slope * cut * (inflow - tip) + slope * tip * mu2)
            - lift * cut * log * mu2
        )
    )
    across_force = (
        mu
        * sigma
        / (2.0 * cut)
        * (
            (1.0 - cut)
            * (
                2.0 * drag * cut
                + tip * ((slope - 2.0 * drag_slope) * inflow + 2.0 * drag_slope * tip)
            )
            - lift * cut * inflow * log
        )
    )
    torque = (
        sigma
        * (1.0 - cut)
        / 6.0
        * (
            2.0 * drag * (1.0 + cut + cut * cut)
            + 3.0 * lift * (cut + 1.0) * inflow
            + 6.0 * (drag_slope * (inflow - tip) - slope * inflow) * (inflow - tip)
            + 3.0 * mu2 * (drag * cut + drag_slope * tip * tip) / cut
        )
    )
    roll = sigma * mu * (1.0 - cut) / 2.0 * (lift * (1.0 + cut) - slope * (inflow - 2.0 * tip))
    pitch = (
        sigma
        * mu
        * chord
        / (2.0 * cut * radius)
        * (moment_slope * (cut - 1.0) * (inflow - 2.0 * tip) - 2.0 * moment * cut * log)
    )
    return thrust * square, across_force * square, torque * square, roll * square, pitch * square


@njit
def second(numbers: np.ndarray, at: int, omega: float, axial: float, across: float) -> Loads:
    """Loads by polynomials of the advance ratios, (95) and (99)-(102).

    Args:
        numbers: All propellers' numbers; this one's own are the static coefficient of thrust,
            k1 to k5, the static coefficient of torque, k6 to k12.
        at: Where the propeller begins.
        omega, axial, across: As in ratios().

    Returns:
        As first().
    """
    k = at + OWN
    square, climb, mu = ratios(omega, numbers[at + RADIUS], axial, across)
    thrust = (
        numbers[k]
        + numbers[k + 1] * climb
        + numbers[k + 2] * mu * mu
        + numbers[k + 3] * climb * climb
    )
    across_force = mu * (numbers[k + 4] + numbers[k + 5] * climb)
    torque = (
        numbers[k + 6]
        + numbers[k + 7] * climb
        + numbers[k + 8] * mu * mu
        + numbers[k + 9] * climb * climb
    )
    roll = mu * (numbers[k + 10] + numbers[k + 11] * climb)
    pitch = mu * (numbers[k + 12] + numbers[k + 13] * climb)
    return thrust * square, across_force * square, torque * square, roll * square, pitch * square
