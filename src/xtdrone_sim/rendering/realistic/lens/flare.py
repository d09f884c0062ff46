"""Lens flare: ghosts, which are reflections between the surfaces of a lens, and a veil of glare.

Ghosts follow from the lens to first order: rays that two surfaces reflect go through the stop and
to the sensor by products of matrices, as of Hullin and others (2011), "Physically-based real-time
lens flare rendering", and Lee and Eisemann (2013). The lens is a Cooke triplet with a layer of
magnesium fluoride on each surface. The veil is light that surfaces and dust scatter; it falls with
the square of the angle, as Stiles and Holladay found for the eye.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from xtdrone_dynamics.compiled import njit

from . import optics

# Radius of each surface, distance to the next one [mm], refractive index after it.
LENS = (
    (22.01359, 3.25896, 1.62041),
    (-435.76044, 6.00755, 1.0),
    (-22.21328, 0.99997, 1.62004),
    (20.29192, 4.75041, 1.0),
    (79.68360, 2.95208, 1.62041),
    (-18.39533, 0.0, 1.0),
)
STOP = 4  # the stop is before this surface
_NUMBER = 8.0  # f-number, as in sunlight
_FRONT = 9.5  # radius of the first surface's edge [mm]
_LAYER = 1.38  # refractive index of its coating
_WAVES = (610.0, 540.0, 460.0)  # wavelengths of red, green and blue [nm]
_TUNED = (430.0, 620.0, 500.0, 560.0, 460.0, 640.0)  # wave of least reflection of each surface [nm]
_SCATTERED = 3e-4  # luminance of the veil, per illuminance at the lens and 1 / angle^2
_CORE = 0.01  # within this angle it grows no more [rad]
_SOFT = 1.5  # edges of ghosts are soft over so many pixels
_MIN = 1.5  # radius of the smallest ghost [pixels]
_LARGE = 0.12  # radius of ghosts that are drawn at coarser pixels, in widths of the image


def reflectance(index: float, other: float, tuned: float, wave: float) -> float:
    """Reflectance between two media with a quarter-wave layer, light coming straight at it.

    Args:
        index, other: Refractive indices of the media.
        tuned: Wave that the layer is a quarter of, within itself [nm].
        wave: Wavelength of the light [nm].
    """
    first, second = (index - _LAYER) / (index + _LAYER), (_LAYER - other) / (_LAYER + other)
    turn = np.exp(-1j * math.pi * tuned / wave)
    return float(abs((first + second * turn) / (1.0 + first * second * turn)) ** 2)


@lru_cache
def ghosts() -> np.ndarray:
    """Ghosts of the lens, (K, 11), the brightest first.

    Of each, in focal lengths of the lens: height at the stop in that of the entrance and in the
    tangent of the angle, for each of three times that it goes through the stop; height on the
    sensor in these two; and the fraction of light that is reflected twice, of three colours.
    """
    focal, _ = focal_length()
    rows = []
    for near, far in itertools.combinations(range(len(LENS)), 2):
        ray, stops = trace(
            [
                *range(far),
                ("back", far),
                *range(far - 1, near, -1),
                ("forth", near),
                *range(near + 1, len(LENS)),
            ]
        )
        stops = (stops * 3)[:3] if len(stops) == 1 else stops
        fraction = [_reflects(near, wave) * _reflects(far, wave) for wave in _WAVES]
        rows.append(
            [*np.ravel([[a, b / focal] for a, b in stops]), ray[0], ray[1] / focal, *fraction]
        )
    table = np.array(rows)
    return table[np.argsort(-table[:, 9] / np.maximum(table[:, 6] ** 2, 1e-4))]


def openings() -> tuple[float, float, float]:
    """Radii of entrance pupil, stop and first surface, in focal lengths."""
    focal, stop = focal_length()
    pupil = 0.5 / _NUMBER
    return pupil, stop * pupil, _FRONT / focal


def flared(
    image: np.ndarray, sources: list, amount: float, left: float, bottom: float, pixel: float
) -> np.ndarray:
    """An image with what bright sources make in the lens.

    Args:
        image: (h, w, 3) luminance [cd/m^2].
        sources: Image of each source at unit distance, x to the right and y up, which may lie
            outside the image, and (3,) its illuminance at the lens [lux].
        amount: Amount of reflected and scattered light; 1 is that of this lens.
        left, bottom, pixel: Edges and side of a pixel of the image at unit distance.
    """
    every, opening = ghosts(), openings()
    radius = opening[1] * np.abs(every[:, 6] / every[:, 0])
    large = radius > _LARGE * image.shape[1] * pixel
    glow = optics.coarse(np.zeros_like(image))
    image = image.copy()
    for x, y, lux in sources:
        lux = amount * lux
        veil(glow, x, y, lux, left, bottom, optics.COARSE * pixel)
        ghostly(glow, every[large], opening, x, y, lux, left, bottom, optics.COARSE * pixel)
        ghostly(image, every[~large], opening, x, y, lux, left, bottom, pixel)
    return optics.added(image, glow, 1.0, 1.0)


@njit(nogil=True)
def veil(
    image: np.ndarray, x: float, y: float, lux: np.ndarray, left: float, bottom: float, pixel: float
) -> None:
    """Adds the light of a source that the lens scatters, in place; see flared()."""
    for v in range(image.shape[0]):
        py = bottom + (v + 0.5) * pixel
        for u in range(image.shape[1]):
            px = left + (u + 0.5) * pixel
            # Square of the sine of the angle between both directions, by their cross product.
            cz = px * y - py * x
            square = ((py - y) ** 2 + (px - x) ** 2 + cz * cz) / (
                (1.0 + px * px + py * py) * (1.0 + x * x + y * y)
            )
            fraction = _SCATTERED / (square + _CORE * _CORE)
            for c in range(3):
                image[v, u, c] += fraction * lux[c]


@njit(nogil=True)
def ghostly(
    image: np.ndarray,
    ghosts: np.ndarray,
    opening: tuple,
    x: float,
    y: float,
    lux: np.ndarray,
    left: float,
    bottom: float,
    pixel: float,
) -> None:
    """Adds ghosts of a source, in place; see ghosts(), openings() and flared()."""
    h, w = image.shape[:2]
    pupil, stop, front = opening
    angle = math.hypot(x, y)
    ax, ay = (x / angle, y / angle) if angle > 1e-9 else (1.0, 0.0)
    for k in range(ghosts.shape[0]):
        g = ghosts[k]
        # Where the rays enter that go through the stop, and where these meet the sensor, on a line
        # through the middle of the image. The image is upright, which turns all signs alike.
        wide, enters = stop / abs(g[0]), -g[1] * angle / g[0]
        scale = math.copysign(max(abs(g[6]), _MIN * pixel / wide), g[6])
        middle = g[7] * angle + g[6] * enters
        soft = _SOFT * pixel / abs(scale)
        reach = (wide + soft) * abs(scale)
        bright = 1.0 / (math.pi * (pupil * scale) ** 2)
        apart = g[2] != g[0] or g[3] != g[1] or g[4] != g[0]
        u0 = max(int((middle * ax - reach - left) / pixel - 0.5), 0)
        u1 = min(int((middle * ax + reach - left) / pixel + 1.5), w)
        v0 = max(int((middle * ay - reach - bottom) / pixel - 0.5), 0)
        v1 = min(int((middle * ay + reach - bottom) / pixel + 1.5), h)
        for v in range(v0, v1):
            py = bottom + (v + 0.5) * pixel
            for u in range(u0, u1):
                px = left + (u + 0.5) * pixel
                across = (py * ax - px * ay) / scale
                along = (px * ax + py * ay - middle) / scale
                fraction = _within(wide, along, across, soft) * _within(
                    front, along + enters, across, soft
                )
                if apart and fraction > 0.0:
                    for m in (2, 4):
                        fraction *= _within(
                            stop / abs(g[m]), along + enters + g[m + 1] * angle / g[m], across, soft
                        )
                if fraction > 0.0:
                    for c in range(3):
                        image[v, u, c] += fraction * bright * g[8 + c] * lux[c]


@njit(inline="always")
def _within(radius: float, x: float, y: float, soft: float) -> float:
    """1 within a circle, 0 outside it, with a soft edge."""
    square = x * x + y * y
    if square >= (radius + 0.5 * soft) ** 2:
        return 0.0
    if radius > soft and square <= (radius - 0.5 * soft) ** 2:
        return 1.0
    return min(max(0.5 + (radius - math.sqrt(square)) / soft, 0.0), 1.0)


def focal_length() -> tuple[float, float]:
    """Focal length [mm], and height at the stop in that at the entrance, of the lens."""
    ray, stops = trace([*range(len(LENS))], sensor=False)
    return -1.0 / ray[2], stops[0][0]


def _reflects(k: int, wave: float) -> float:
    before = LENS[k - 1][2] if k else 1.0
    return reflectance(before, LENS[k][2], _TUNED[k], wave)


def trace(
    steps: Sequence[int | tuple[str, int]], sensor: bool = True
) -> tuple[np.ndarray, list[np.ndarray]]:
    """A ray through surfaces: its height and angle as rows in those at the entrance.

    Returns:
        Height's row and, with sensor False, the angle's row after the last surface; and the
        rows of height at each time that it goes through the stop.
    """
    height, angle, stops = np.array([1.0, 0.0]), np.array([0.0, 1.0]), []
    way, at = 1, None  # along the axis, and the surface that it was at
    for step in steps:
        turned, k = (step[0], step[1]) if isinstance(step, tuple) else ("", step)
        if at is not None:
            first = min(at, k)
            if {at, k} == {STOP - 1, STOP} and first == STOP - 1:
                gap = LENS[STOP - 1][1]  # the stop is at the surface that follows it
                stops.append(height + (gap if way > 0 else 0.0) * angle)
            height = height + LENS[first][1] * angle
        radius, _, after = LENS[k]
        before = LENS[k - 1][2] if k else 1.0
        if turned:
            # Angles are measured along the way: a mirror of a radius, seen from that side.
            angle = angle + (2.0 if turned == "back" else -2.0) * height / radius
            way = -way
        elif way > 0:
            angle = (before * angle - (after - before) * height / radius) / after
        else:
            angle = (after * angle + (before - after) * height / radius) / before
        at = k
    if not sensor:
        return np.array([*height, *angle]), stops
    back = _image_distance()
    return height + back * angle, stops


@lru_cache
def _image_distance() -> float:
    """Distance from the last surface to the image of what is far away [mm]."""
    ray, _ = trace([*range(len(LENS))], sensor=False)
    return -ray[0] / ray[2]
