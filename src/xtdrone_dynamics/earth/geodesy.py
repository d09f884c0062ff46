"""Local ENU coordinates to latitude and longitude and back; Pegasus (14)-(16).

The azimuthal equidistant projection on a sphere, as PX4 has it, so that both
agree on a vehicle's position. Written with differences and atan2 in place of
asin and acos: exact to the micrometre anywhere, also at poles and date line.
Heights pass through: the local z axis follows the Earth's curvature.
"""

import math

import numpy as np
import numpy.typing as npt

from ..compiled import njit
from ..constants import EARTH_RADIUS


@njit
def wrap_longitude(lon: float) -> float:
    """The longitude in -pi to pi [rad]."""
    wrapped = lon - 2.0 * math.pi * math.floor((lon + math.pi) / (2.0 * math.pi))
    return max(-math.pi, min(math.pi, wrapped))  # the sums round past the date line


@njit
def to_local(lat: float, lon: float, lat0: float, lon0: float) -> tuple[float, float]:
    """East and north of the origin; Pegasus (14)-(16) solved for x and y.

    Args:
        lat, lon: A position [rad].
        lat0, lon0: The origin [rad].

    Returns:
        (east, north) [m]. The antipode of the origin has no unique answer.
    """
    half_sine = math.sin(0.5 * (lon - lon0))
    east = math.cos(lat) * math.sin(lon - lon0)
    north = math.sin(lat - lat0) + 2.0 * math.sin(lat0) * math.cos(lat) * half_sine * half_sine
    sine = math.hypot(east, north)
    if sine == 0.0:
        return 0.0, 0.0
    cosine = math.cos(lat - lat0) - 2.0 * math.cos(lat0) * math.cos(lat) * half_sine * half_sine
    scale = EARTH_RADIUS * math.atan2(sine, cosine) / sine
    return east * scale, north * scale


@njit
def to_geodetic(east: float, north: float, lat0: float, lon0: float) -> tuple[float, float]:
    """Latitude and longitude of a local position; Pegasus (14)-(16).

    Args:
        east, north: The position [m].
        lat0, lon0: The origin [rad].

    Returns:
        (latitude, longitude) [rad], longitude in -pi to pi.
    """
    distance = math.hypot(east, north)
    if distance == 0.0:
        return lat0, wrap_longitude(lon0)
    sine, cosine = math.sin(distance / EARTH_RADIUS), math.cos(distance / EARTH_RADIUS)
    to_east, to_north = sine * east / distance, sine * north / distance
    # The position as a vector: towards the pole, outwards at lon0, and east at lon0.
    pole = cosine * math.sin(lat0) + to_north * math.cos(lat0)
    outwards = cosine * math.cos(lat0) - to_north * math.sin(lat0)
    return (
        math.atan2(pole, math.hypot(outwards, to_east)),
        wrap_longitude(lon0 + math.atan2(to_east, outwards)),
    )


@njit
def _to_local_rows(
    geodetic: np.ndarray, lat0: float, lon0: float, alt0: float, out: np.ndarray
) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = to_local(geodetic[i, 0], geodetic[i, 1], lat0, lon0)
        out[i, 2] = geodetic[i, 2] - alt0


@njit
def _to_geodetic_rows(
    pos: np.ndarray, lat0: float, lon0: float, alt0: float, out: np.ndarray
) -> None:
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = to_geodetic(pos[i, 0], pos[i, 1], lat0, lon0)
        out[i, 2] = pos[i, 2] + alt0


def to_local_array(geodetic: npt.ArrayLike, lat0: float, lon0: float, alt0: float) -> np.ndarray:
    """World-frame positions of geodetic coordinates.

    Args:
        geodetic: (N, 3) latitude, longitude, height [rad, rad, m].
        lat0, lon0, alt0: The world's origin [rad, rad, m].

    Returns:
        (N, 3) ENU [m].
    """
    rows = np.asarray(geodetic, dtype=np.float64)
    out = np.empty(rows.shape)
    _to_local_rows(rows, lat0, lon0, alt0, out)
    return out


def to_geodetic_array(pos: npt.ArrayLike, lat0: float, lon0: float, alt0: float) -> np.ndarray:
    """Places on the Earth of positions in the world frame.

    Args:
        pos: (N, 3) ENU [m].
        lat0, lon0, alt0: The world's origin [rad, rad, m].

    Returns:
        (N, 3) latitude, longitude, height [rad, rad, m].
    """
    rows = np.asarray(pos, dtype=np.float64)
    out = np.empty(rows.shape)
    _to_geodetic_rows(rows, lat0, lon0, alt0, out)
    return out
