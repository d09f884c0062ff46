"""A propeller by a table of coefficients over the flow, for any flow.

The angle of advance is that of the tip's helix, atan2(V, omega R), from 0 (still air) to a quarter
turn (it stands); the incidence is that of the flow against the axis, from 0 (climb) to half a
turn (descent). Loads are coefficients times W^2 = V^2 + (omega R)^2, so that no number of the table
is large. Layers for several W have the effect of the Reynolds number.
"""

import math

import numpy as np

from ..compiled import njit
from .gill_dandrea import Loads
from .layout import COLUMNS, LAYERS, OWN, RADIUS, ROWS, SLOWEST, VALUE_NUMBERS, VALUES


@njit
def between(
    numbers: np.ndarray, here: int, down: int, across: float, along: float, scale: float
) -> Loads:
    """Five numbers of a layer between four entries.

    Args:
        numbers: All propellers' numbers.
        here: Where the entry of lower row and column begins.
        down: Numbers from one row to the next.
        across, along: Fractions of the way to the next column and row.
        scale: Factor on the result.
    """
    right, below, beyond = here + VALUE_NUMBERS, here + down, here + down + VALUE_NUMBERS
    a, b = scale * (1.0 - along) * (1.0 - across), scale * (1.0 - along) * across
    c, d = scale * along * (1.0 - across), scale * along * across
    return (
        a * numbers[here] + b * numbers[right] + c * numbers[below] + d * numbers[beyond],
        a * numbers[here + 1]
        + b * numbers[right + 1]
        + c * numbers[below + 1]
        + d * numbers[beyond + 1],
        a * numbers[here + 2]
        + b * numbers[right + 2]
        + c * numbers[below + 2]
        + d * numbers[beyond + 2],
        a * numbers[here + 3]
        + b * numbers[right + 3]
        + c * numbers[below + 3]
        + d * numbers[beyond + 3],
        a * numbers[here + 4]
        + b * numbers[right + 4]
        + c * numbers[below + 4]
        + d * numbers[beyond + 4],
    )


@njit
def loads(numbers: np.ndarray, at: int, omega: float, axial: float, across: float) -> Loads:
    """Loads between the entries around a flow, linearly in both angles and in log W.

    Args:
        numbers: All propellers' numbers, see layout.
        at: Where the propeller begins.
        omega: Speed [rad/s].
        axial, across: Velocity relative to the air along and across the thrust [m/s].

    Returns:
        As gill_dandrea.first().
    """
    k = at + OWN
    layers, rows, columns = (
        int(numbers[k + LAYERS]),
        int(numbers[k + ROWS]),
        int(numbers[k + COLUMNS]),
    )
    tip = omega * numbers[at + RADIUS]
    speed = math.sqrt(axial * axial + across * across)
    square = speed * speed + tip * tip
    x = math.atan2(speed, tip) * (rows - 1) / (0.5 * math.pi)
    y = (math.atan2(across, axial) if speed > 0.0 else 0.0) * (columns - 1) / math.pi
    i, j = min(int(x), rows - 2), min(int(y), columns - 2)
    down = columns * VALUE_NUMBERS
    here = k + VALUES + i * down + j * VALUE_NUMBERS
    if layers == 1:
        return between(numbers, here, down, y - j, x - i, square)
    z = 0.5 * math.log(max(square, 1e-12)) / math.log(2.0) - numbers[k + SLOWEST]
    z = min(max(z, 0.0), layers - 1.0)
    layer = min(int(z), layers - 2)
    here += layer * rows * down
    a, b, c, d, e = between(numbers, here, down, y - j, x - i, square * (1.0 - z + layer))
    f, g, h, p, q = between(numbers, here + rows * down, down, y - j, x - i, square * (z - layer))
    return a + f, b + g, c + h, d + p, e + q
