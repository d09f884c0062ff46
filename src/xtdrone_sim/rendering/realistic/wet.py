"""Wet ground in rain: a film of water that darkens what it covers and reflects as Fresnel says.

Water in the pores of a rough surface sends part of the light that leaves it back into it, where it
is absorbed: Angstrom (1925), Lekner and Dorf, "Why some things are darker when wet" (1988). What
the film reflects is found in the image itself, else it is the sky.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

from . import fog, sky

WATER = 1.33  # refractive index
REFLECTED_OUTSIDE = 0.066  # fraction of even light that water reflects (Lekner and Dorf, table 1)
REFLECTED_INSIDE = 1.0 - (1.0 - REFLECTED_OUTSIDE) / WATER**2  # the same of light from within
_ROUGH = 0.09  # slope of a thin film, which follows the grains below it
_PUDDLE = 0.012  # slope of a puddle, by the drops that fall into it
_STEPS = 28  # along a ray that is followed through the image
_FINER = 5  # halvings of the step that hits
_GROWTH = 1.22  # factor from one step to the next


def puddles(rate: float) -> float:
    """Share of level ground that puddles cover, by the rate of the rain [mm/h]; a choice."""
    return 0.0 if rate <= 0.0 else 0.45 * rate / (rate + 8.0)


@njit(inline="always")
def fresnel(cosine: float, index: float) -> float:
    """Share of unpolarised light that a smooth surface reflects, by the cosine of its incidence."""
    sine = (1.0 - cosine * cosine) / (index * index)
    within = math.sqrt(max(1.0 - sine, 0.0))
    across = (cosine - index * within) / (cosine + index * within)
    along = (within - index * cosine) / (within + index * cosine)
    return 0.5 * (across * across + along * along)


@njit(inline="always")
def darkened(albedo: float) -> float:
    """Albedo of a rough surface below a film of water, by that of the dry one."""
    passed = (1.0 - REFLECTED_OUTSIDE) * (1.0 - REFLECTED_INSIDE)
    return passed * albedo / (1.0 - REFLECTED_INSIDE * albedo)


@njit
def film(nz: float, patch: float, covered: float) -> float:
    """How wet a surface is: 0 dry, up to 1 a thin film, 2 a puddle.

    Args:
        nz: Vertical part of its normal.
        patch: Smooth noise over the ground, 0..1.
        covered: Share of level ground below puddles.
    """
    if nz < 0.2:
        return 0.0
    wet = min((nz - 0.2) / 0.4, 1.0)
    if nz > 0.98 and covered > 0.0:
        wet += min(max((patch - _level(covered)) / 0.06, 0.0), 1.0)
    return wet


@njit(inline="always")
def _level(covered: float) -> float:
    """Returns the value that a fraction of the noise exceeds; it spreads evenly from 0.1 to 0.9."""
    return 0.9 - 0.8 * covered


@njit(nogil=True)
def reflected(
    image: np.ndarray,
    distance: np.ndarray,
    films: np.ndarray,
    left: float,
    bottom: float,
    pixel: float,
    pos: np.ndarray,
    axes: np.ndarray,
    heavens: np.ndarray,
    air: tuple,
    veil: np.ndarray,
) -> np.ndarray:
    """The image with what wet surfaces reflect, whose normals are taken as upwards.

    Each pixel of a square of three by three follows the ray of another facet; each then gets the
    mean of those around it.

    Args:
        image: (h, w, 3) luminance.
        distance: (h, w) along the optical axis [m].
        films: (h, w), see film().
        Others: See shade().
    """
    h, w = distance.shape
    density, start, end, kind = air
    mirror = np.zeros((h, w, 4), dtype=np.float32)  # fraction that is reflected, and its colour
    for v in range(h):
        for u in range(w):
            wet = films[v, u]
            x, y, z = left + (u + 0.5) * pixel, bottom + (v + 0.5) * pixel, distance[v, u]
            rx = axes[0, 0] - x * axes[0, 1] + y * axes[0, 2]
            ry = axes[1, 0] - x * axes[1, 1] + y * axes[1, 2]
            rz = axes[2, 0] - x * axes[2, 1] + y * axes[2, 2]
            if wet <= 0.0 or rz >= 0.0:
                continue
            stretch = math.sqrt(rx * rx + ry * ry + rz * rz)
            rx, ry, rz = rx / stretch, ry / stretch, rz / stretch
            nx, ny = _facet(u, v, _ROUGH + (_PUDDLE - _ROUGH) * max(wet - 1.0, 0.0))
            size = math.sqrt(1.0 + nx * nx + ny * ny)
            along = (rx * nx + ry * ny + rz) / size
            if along >= 0.0:  # seen from behind: such a facet is hidden by others
                nx, ny, size, along = 0.0, 0.0, 1.0, rz
            fraction = min(wet, 1.0) * fresnel(-along, WATER)
            turn = 2.0 * along / size
            mx, my, mz = rx - turn * nx, ry - turn * ny, max(rz - turn, 1e-3)
            f = mx * axes[0, 0] + my * axes[1, 0] + mz * axes[2, 0]
            aside = mx * axes[0, 1] + my * axes[1, 1] + mz * axes[2, 1]
            rise = mx * axes[0, 2] + my * axes[1, 2] + mz * axes[2, 2]
            uu, vv = _hit(distance, z, x, y, f, aside, rise, left, bottom, pixel)
            through = fog.transmittance(z * stretch, density, start, end, kind)
            mirror[v, u, 0] = fraction
            hazy = 0.0
            if uu < 0 and veil[0] >= 0.0:
                hazy = 1.0 - fog.transmittance(300.0 / max(mz, 0.02), density, start, end, kind)
            for c in range(3):
                if uu >= 0:
                    seen = image[vv, uu, c]
                else:
                    seen = sky.sample(heavens, mx, my, mz, c) * (1.0 - hazy)
                    if hazy > 0.0:
                        seen += hazy * veil[c]
                grey = veil[c] if veil[0] >= 0.0 else sky.sample(heavens, rx, ry, 0.02, c)
                # What fog adds on the way to the ground is in the image, and stays.
                mirror[v, u, 1 + c] = fraction * (through * seen + (1.0 - through) * grey)
    return _mixed(image, mirror)


@njit(nogil=True)
def _mixed(image: np.ndarray, mirror: np.ndarray) -> np.ndarray:
    """Returns the image with what is mirrored, as a mean of three by three pixels."""
    h, w = image.shape[:2]
    out = image.copy()
    for v in range(h):
        for u in range(w):
            if mirror[v, u, 0] == 0.0:
                continue
            count, fraction, red, green, blue = 0, 0.0, 0.0, 0.0, 0.0
            for j in range(max(v - 1, 0), min(v + 2, h)):
                for i in range(max(u - 1, 0), min(u + 2, w)):
                    if mirror[j, i, 0] > 0.0:
                        count += 1
                        fraction += mirror[j, i, 0]
                        red += mirror[j, i, 1]
                        green += mirror[j, i, 2]
                        blue += mirror[j, i, 3]
            kept = 1.0 - fraction / count
            out[v, u, 0] = kept * image[v, u, 0] + red / count
            out[v, u, 1] = kept * image[v, u, 1] + green / count
            out[v, u, 2] = kept * image[v, u, 2] + blue / count
    return out


@njit
def _hit(
    distance: np.ndarray,
    z0: float,
    x: float,
    y: float,
    f: float,
    aside: float,
    rise: float,
    left: float,
    bottom: float,
    pixel: float,
) -> tuple[int, int]:
    """Pixel (u, v) of the first thing on a ray in the image; -1, -1 for none.

    Args:
        distance: Of the image [m].
        z0, x, y: Where the ray starts, along the axis [m] and at unit distance.
        f, aside, rise: Its direction, forward, left and up of the camera.
        left, bottom, pixel: Of the image at unit distance.
    """
    h, w = distance.shape
    step, t = 0.03 * z0, 0.0
    for _n in range(_STEPS):
        before, t = t, t + step
        z = z0 + t * f
        if z < 0.1:
            return -1, -1
        u = math.floor(((x * z0 - t * aside) / z - left) / pixel)
        v = math.floor(((y * z0 + t * rise) / z - bottom) / pixel)
        if not (0 <= u < w and 0 <= v < h):
            return -1, -1
        if 1e-3 * z < z - distance[v, u] < 1.5 * step + 0.3:
            for _k in range(_FINER):
                middle = 0.5 * (before + t)
                z = z0 + middle * f
                i = math.floor(((x * z0 - middle * aside) / z - left) / pixel)
                j = math.floor(((y * z0 + middle * rise) / z - bottom) / pixel)
                i, j = min(max(i, 0), w - 1), min(max(j, 0), h - 1)
                if z > distance[j, i] + 1e-3 * z:
                    t, u, v = middle, i, j
                else:
                    before = middle
            return u, v
        step *= _GROWTH
    return -1, -1


@njit(inline="always")
def _facet(u: int, v: int, slope: float) -> tuple[float, float]:
    """Slopes of one of nine facets of a rough surface, whose deviation is given."""
    k = (u % 3) + 3 * (v % 3)
    length = slope * math.sqrt(-2.0 * math.log((k + 0.5) / 9.0))
    return length * math.cos(2.399963 * k), length * math.sin(2.399963 * k)
