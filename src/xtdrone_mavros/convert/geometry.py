"""Vectors, attitudes, covariances and places, between NED and ENU and between FRD and FLU.

These are the scalar forms of xtdrone_core.frames, since a NumPy call on three numbers costs more
than the rest of a message. Vectors and quaternions xyzw are tuples; each change of frame is its
own inverse.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from xtdrone_dynamics.earth.geoid import geoid_height

Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]  # xyzw
Numbers: TypeAlias = Sequence[float]

_HALF = math.sqrt(0.5)
_EQUATOR_M, _ECCENTRICITY_2 = 6_378_137.0, 6.694379990141317e-3  # WGS 84
NED_ENU = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
FRD_FLU = np.diag([1.0, -1.0, -1.0])
TO_NED: Quaternion = (_HALF, _HALF, 0.0, 0.0)  # rotation from ENU
TO_FLU: Quaternion = (1.0, 0.0, 0.0, 0.0)  # rotation from FRD
_UPPER = np.triu_indices(6)


def enu_ned(v: Numbers) -> Vector:
    """Converts a vector between ENU and NED."""
    return v[1], v[0], -v[2]


def flu_frd(v: Numbers) -> Vector:
    """Converts a vector between FLU and FRD."""
    return v[0], -v[1], -v[2]


def quat_enu_ned(q: Numbers) -> Quaternion:
    """Converts an attitude xyzw between FLU in ENU and FRD in NED."""
    x, y, z, w = q
    return _HALF * (x + y), _HALF * (x - y), _HALF * (w - z), _HALF * (w + z)


def quaternion_product(p: Numbers, q: Numbers) -> Quaternion:
    """Returns the rotation xyzw that applies q first, then p."""
    a, b, c, d = p
    x, y, z, w = q
    return (
        d * x + a * w + b * z - c * y,
        d * y - a * z + b * w + c * x,
        d * z + a * y - b * x + c * w,
        d * w - a * x - b * y - c * z,
    )


def yaw_enu_ned(yaw: float) -> float:
    """Converts yaw between ENU and NED, to -pi..pi [rad]."""
    return (1.5 * math.pi - yaw) % (2.0 * math.pi) - math.pi


def rotate(q: Numbers, v: Numbers) -> Vector:
    """Rotates v from body to world by the attitude q xyzw."""
    x, y, z, w = q
    a, b, c = v
    tx, ty, tz = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return (
        a + w * tx + y * tz - z * ty,
        b + w * ty + z * tx - x * tz,
        c + w * tz + x * ty - y * tx,
    )


def rotate_inverse(q: Numbers, v: Numbers) -> Vector:
    """Rotates v from world to body by the attitude q xyzw."""
    return rotate((-q[0], -q[1], -q[2], q[3]), v)


def quaternion_from_euler(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Returns the attitude xyzw of roll, pitch and yaw [rad]."""
    (cr, sr), (cp, sp), (cy, sy) = (
        (math.cos(0.5 * a), math.sin(0.5 * a)) for a in (roll, pitch, yaw)
    )
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def euler(q: Numbers) -> Vector:
    """Returns roll, pitch and yaw [rad] of an attitude xyzw."""
    x, y, z, w = q
    return (
        math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)),
        math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x)))),
        math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)),
    )


def rotate_covariance(covariance: Numbers | np.ndarray, rotation: np.ndarray) -> list[float]:
    """Rotates a 6 by 6 covariance, flat, to other axes; NaN of one element goes to all."""
    both = np.kron(np.eye(2), rotation)
    return (both @ np.reshape(covariance, (6, 6)) @ both.T).ravel().tolist()


def upper_triangle(covariance: Numbers | np.ndarray) -> list[float]:
    """Returns the 21 elements of a 6 by 6 covariance that MAVLink carries."""
    return np.reshape(covariance, (6, 6))[_UPPER].tolist()


def geodetic_to_ecef(place: Numbers) -> Vector:
    """Converts latitude, longitude [deg] and height above WGS 84 [m] to ECEF coordinates [m]."""
    lat, lon, height = math.radians(place[0]), math.radians(place[1]), place[2]
    normal = _EQUATOR_M / math.sqrt(1.0 - _ECCENTRICITY_2 * math.sin(lat) ** 2)
    return (
        (normal + height) * math.cos(lat) * math.cos(lon),
        (normal + height) * math.cos(lat) * math.sin(lon),
        (normal * (1.0 - _ECCENTRICITY_2) + height) * math.sin(lat),
    )


def geodetic_to_enu(origin: Numbers, place: Numbers) -> Vector:
    """Returns east, north and up [m] of a place in the tangential plane of an origin.

    Both are latitude, longitude [deg] and height above WGS 84 [m].
    """
    dx, dy, dz = (b - a for a, b in zip(geodetic_to_ecef(origin), geodetic_to_ecef(place)))
    lat, lon = math.radians(origin[0]), math.radians(origin[1])
    outwards = math.cos(lon) * dx + math.sin(lon) * dy
    return (
        -math.sin(lon) * dx + math.cos(lon) * dy,
        -math.sin(lat) * outwards + math.cos(lat) * dz,
        math.cos(lat) * outwards + math.sin(lat) * dz,
    )


def enu_to_geodetic(origin: Numbers, position: Numbers) -> Vector:
    """Returns latitude, longitude [deg] and height [m]: the inverse of geodetic_to_enu()."""
    lat, lon, height = origin
    for _ in range(4):  # each step is wrong by less than a thousandth of the one before
        east, north, up = (
            p - q for p, q in zip(position, geodetic_to_enu(origin, (lat, lon, height)))
        )
        lat += math.degrees(north / _EQUATOR_M)
        lon += math.degrees(east / (_EQUATOR_M * math.cos(math.radians(lat))))
        height += up
    return lat, lon, height


def full_covariance(triangle: Numbers) -> np.ndarray:
    """Returns a 6 by 6 covariance, flat, from its upper triangle."""
    full = np.zeros((6, 6))
    full[_UPPER] = triangle
    full.T[_UPPER] = triangle
    return full.ravel()


def above_ellipsoid(lat: float, lon: float, amsl: float) -> float:
    """Converts a height above mean sea level to one above WGS 84 [m], at lat, lon [deg]."""
    return amsl + geoid_height(math.radians(lat), math.radians(lon))


def above_sea(lat: float, lon: float, ellipsoidal: float) -> float:
    """Converts a height above WGS 84 to one above mean sea level [m], at lat, lon [deg]."""
    return ellipsoidal - geoid_height(math.radians(lat), math.radians(lon))
