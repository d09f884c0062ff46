"""Buoyancy and drag of a float: a box, or a lying half-cylinder as of a catamaran.

A float is divided into vertical columns at Gauss-Legendre points of its waterplane, which gives
its second moments, and thus the metacentric height, exactly. A submerged column pushes up by the
weight of the water that it displaces, at the centre of its submerged part; this force has a
potential, so that it neither adds energy nor takes any. In waves each column has the water's
height, slope and motion at its own place.
"""

import math

from ..compiled import Record, njit

_GAUSS = 1.0 / math.sqrt(3.0)  # the two Gauss-Legendre points, as a fraction of half a side
_LEVEL = 1e-6  # smaller cosines of the tilt count as this


@njit
def column(length: float, depth: float, upright: float) -> tuple[float, float]:
    """Submerged part of a column.

    Args:
        length: Length of the column [m].
        depth: Depth of its bottom below the surface [m].
        upright: Cosine of its angle from the vertical.

    Returns:
        Length of the part [m], and its centre above the bottom, along the column [m].
    """
    lowest = depth - min(0.0, upright) * length
    part = min(length, max(0.0, lowest / max(abs(upright), _LEVEL)))
    return part, 0.5 * part if upright >= 0.0 else length - 0.5 * part


@njit
def segment(radius: float, depth: float) -> float:
    """Area of a circle's segment of some depth, at most half of the circle [m^2]."""
    depth = min(radius, max(0.0, depth))
    rest = radius - depth
    return radius * radius * math.acos(rest / radius) - rest * math.sqrt(depth * (radius + rest))


@njit
def foot(hull: Record, k: int) -> tuple[float, float, float]:
    """Bottom of one of a float's four columns, 0 to 3, in the frame of the body [m].

    The two of a half-cylinder on each side of its keel act on the keel.
    """
    side = 0.0 if hull.half_cylinder else 1.0
    x = hull.pos[0] + 0.5 * hull.length * (_GAUSS if k & 1 else -_GAUSS)
    y = hull.pos[1] + 0.5 * side * hull.width * (_GAUSS if k & 2 else -_GAUSS)
    return x, y, hull.pos[2]


@njit
def buoyancy(
    hull: Record, k: int, below: float, ux: float, uy: float, uz: float
) -> tuple[float, float, float, float]:
    """Submerged volume of one of a float's four columns, and where it is.

    Args:
        hull: The float's record.
        k: Column, 0 to 3.
        below: Depth of the origin of the body below the surface [m].
        ux, uy, uz: Unit vector upwards, frame of the body.

    Returns:
        (volume [m^3], its centre xyz in the frame of the body [m]).
    """
    x, y, z = foot(hull, k)
    depth = below - (ux * x + uy * y + uz * z)
    if hull.half_cylinder:
        return 0.25 * hull.length * segment(0.5 * hull.width, depth), x, y, z
    part, centre = column(hull.height, depth, uz)
    return 0.25 * hull.length * hull.width * part, x, y, z + centre


@njit
def drag(linear: float, quadratic: float, speed: float) -> float:
    """Returns the drag [N] or [N m] against a velocity [m/s] or rate [rad/s]."""
    return -(linear + quadratic * abs(speed)) * speed
