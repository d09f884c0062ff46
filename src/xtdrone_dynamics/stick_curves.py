"""Sticks -1..1 to rates: the curves of PX4 and of Betaflight.

Both leave the middle of the stick gentle and its ends fast. PX4: superexpo() of its library
mathlib, parameters MC_ACRO_EXPO and MC_ACRO_SUPEXPO. Betaflight: applyBetaflightRates() of
src/main/fc/rc.c, its rates type BETAFLIGHT, with `rc_rate`, `super_rate` and `expo` as its
configurator shows them.
"""

from .compiled import njit

BETAFLIGHT_UNIT = 200.0  # full stick at an RC rate of 1 [deg/s]
_STEEPER = 14.54  # factor on what an RC rate exceeds 2 by
_MIN_DENOMINATOR = 0.01  # smallest denominator of Betaflight's curve


@njit
def exponential(stick: float, expo: float) -> float:
    """PX4's expo(): a straight line, expo 0, to a cube, expo 1."""
    return (1.0 - expo) * stick + expo * stick * stick * stick


@njit
def super_exponential(stick: float, expo: float, super_expo: float) -> float:
    """PX4's superexpo(): full stick stays at 1, the middle gets flatter.

    Args:
        stick: -1..1.
        expo: 0..1.
        super_expo: 0..0.95.

    Returns:
        Fraction of the largest rate, -1..1.
    """
    stick = min(1.0, max(-1.0, stick))
    return exponential(stick, expo) * (1.0 - super_expo) / (1.0 - abs(stick) * super_expo)


@njit
def betaflight_rate(stick: float, rc_rate: float, super_rate: float, expo: float) -> float:
    """Betaflight's rate of a stick [deg/s].

    Args:
        stick: -1..1.
        rc_rate: 0.01..2.55; sets the slope in the middle.
        super_rate: 0..1; makes the ends faster.
        expo: 0..1; makes the middle slower.

    Returns:
        [deg/s].
    """
    stick = min(1.0, max(-1.0, stick))
    size = abs(stick)
    curved = stick * size * size * size * expo + stick * (1.0 - expo)
    if rc_rate > 2.0:
        rc_rate += _STEEPER * (rc_rate - 2.0)
    return (
        BETAFLIGHT_UNIT
        * rc_rate
        * curved
        / min(1.0, max(_MIN_DENOMINATOR, 1.0 - size * super_rate))
    )
