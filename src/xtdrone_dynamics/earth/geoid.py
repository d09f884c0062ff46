"""Height of mean sea level above the WGS 84 ellipsoid, by the Earth Gravitational Model 1996.

egm96.npz holds NGA's 15-minute grid in steps of 5 cm, as differences along rows and
columns, which compress well; scripts/make_geoid.py writes it. Against the grid itself the
error is at most 4 cm; against the full model, by GeographicLib's figures for a 15-minute
grid, 0.7 cm RMS and at most 17 cm. The model is within about 0.5 m RMS of the true geoid.
"""

import functools
import math
from pathlib import Path

import numpy as np

STEP = 0.05  # step of the stored heights [m]
PER_DEGREE = 4  # rows and columns of the grid
_ROWS, _COLUMNS = 180 * PER_DEGREE + 1, 360 * PER_DEGREE
_FILE = Path(__file__).parent / "egm96.npz"


def geoid_height(lat: float, lon: float) -> float:
    """Height of the geoid above the ellipsoid, cubic between the points of the grid.

    Args:
        lat: Geodetic latitude [rad]; beyond a pole it is the pole's.
        lon: Longitude [rad], of any turn.

    Returns:
        The height [m]: add it to a height above mean sea level to get that above the
        ellipsoid. NaN where a coordinate is not finite.
    """
    if not (math.isfinite(lat) and math.isfinite(lon)):
        return math.nan
    row = (90.0 - min(max(math.degrees(lat), -90.0), 90.0)) * PER_DEGREE
    column = math.degrees(lon) % 360.0 * PER_DEGREE
    above, left = min(int(row), _ROWS - 2), int(column)
    across = _weights(column - left)
    return sum(
        weight * sum(w * height for w, height in zip(across, heights))
        for weight, heights in zip(_weights(row - above), _around(above, left))
    )


def _weights(x: float) -> tuple[float, ...]:
    """Lagrange's weights of the points at -1, 0, 1 and 2 for the place x in 0..1."""
    a, b, c = x + 1.0, x - 1.0, x - 2.0
    return -x * b * c / 6.0, a * b * c / 2.0, -a * x * c / 2.0, a * x * b / 6.0


@functools.lru_cache(maxsize=4096)
def _around(above: int, left: int) -> list[list[float]]:
    """Heights of the 4 x 4 points around a cell [m]; across a pole the far side's rows go on."""
    rows = np.arange(above - 1, above + 3)
    beyond = (rows < 0) | (rows >= _ROWS)
    rows = np.where(rows < 0, -rows, np.where(rows >= _ROWS, 2 * (_ROWS - 1) - rows, rows))
    columns = np.arange(left - 1, left + 3) + np.where(beyond, _COLUMNS // 2, 0)[:, None]
    heights: list[list[float]] = (_grid()[rows[:, None], columns % _COLUMNS] * STEP).tolist()
    return heights


@functools.cache
def _grid() -> np.ndarray:
    """The grid in units of STEP: rows from the north pole down, columns from Greenwich east."""
    with np.load(_FILE) as file:
        rows: np.ndarray = file["differences"].cumsum(axis=0, dtype=np.int16)
    return rows.cumsum(axis=1, dtype=np.int16)
