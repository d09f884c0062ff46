"""The Earth's magnetic field by the World Magnetic Model; Pegasus (11)."""

import math

import numpy as np

from ..errors import DynamicsError

DEFAULT_YEAR = 2026.0  # a fixed date, so that equal scenarios see equal fields


def earth_field(lat: float, lon: float, alt: float, year: float = DEFAULT_YEAR) -> np.ndarray:
    """The field at one position; it changes little enough over a world that one is sufficient.

    Args:
        lat: Geodetic latitude [rad].
        lon: Longitude [rad].
        alt: Height above the ellipsoid [m].
        year: Date as a decimal year, 2010 to 2030.

    Returns:
        (3,) field vector in ENU [T].

    Raises:
        DynamicsError: No coefficients for that date, or the position is not on the Earth.
    """
    from pygeomag import GeoMag  # here, since kernels need the rest of the package without it

    if not (abs(lat) <= 0.5 * math.pi and math.isfinite(lon) and math.isfinite(alt)):
        raise DynamicsError(
            f"no position at latitude {math.degrees(lat):.6g} deg, longitude "
            f"{math.degrees(lon):.6g} deg: give latitude -90 to 90"
        )
    if not 2010.0 <= year <= 2030.0:
        raise DynamicsError(f"year {year} has no magnetic model: give 2010 to 2030")
    lon = math.degrees(math.remainder(lon, 2.0 * math.pi))
    field = GeoMag(base_year=min(int(year), 2029)).calculate(
        math.degrees(lat), lon, alt / 1000.0, year
    )
    return np.array([field.y, field.x, -field.z]) * 1e-9  # the model gives NED in nT
