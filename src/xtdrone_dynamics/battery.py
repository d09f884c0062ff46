"""A lithium-polymer pack under load: open-circuit voltage, internal resistance, charge.

A pack of equal cells in series behind one resistance, drained at a given power.
"""

import math

from .compiled import njit

_HOUR = 3600.0  # [s]


@njit
def open_circuit_voltage(charge: float) -> float:
    """Voltage of one cell without load; Chen and Rincon-Mora (2006), equation (2).

    Args:
        charge: State of charge, 0 to 1.

    Returns:
        [V], 4.10 when full, 3.8 at half, 2.65 when empty.
    """
    return (
        -1.031 * math.exp(-35.0 * charge)
        + 3.685
        + 0.2156 * charge
        - 0.1178 * charge**2
        + 0.3201 * charge**3
    )


@njit
def load(charge: float, cells: int, resistance: float, power: float) -> tuple[float, float]:
    """Voltage and current of a pack that delivers a power.

    The root of power = (E - R I) I with the smaller current. Above the most
    that the pack can give, E^2 / 4 R, it gives that most. An empty pack gives
    nothing.

    Args:
        charge: State of charge, 0 to 1.
        cells: In series.
        resistance: R of the whole pack [Ohm].
        power: Taken at the terminals [W].

    Returns:
        (voltage at the terminals [V], current [A]).
    """
    if charge <= 0.0:
        return 0.0, 0.0
    source = cells * open_circuit_voltage(charge)
    root = math.sqrt(max(0.0, source * source - 4.0 * resistance * power))
    # Twice the power over (E + root): the textbook's root without its 0/0 at R = 0.
    current = min(2.0 * power / (source + root), 0.5 * (source + root) / max(resistance, 1e-9))
    return source - resistance * current, current


@njit
def drained(charge: float, capacity: float, current: float, dt: float) -> float:
    """State of charge after dt.

    Args:
        charge: At the start, 0 to 1.
        capacity: [A h].
        current: [A].
        dt: Duration [s].

    Returns:
        0 to 1.
    """
    return max(0.0, charge - current * dt / (_HOUR * capacity))
