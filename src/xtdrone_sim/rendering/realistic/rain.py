"""Rain: streaks of drops that fall through the view during the exposure.

Sizes are Marshall and Palmer's (1948), speeds Atlas and others' (1973). A drop hides what is behind
it for the fraction of the exposure in which it covers a pixel, as Garg and Nayar (2007) describe.
"""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

_SMALLEST = 1.0  # drops that are smaller are not drawn [mm]
_NEAREST, _FARTHEST = 0.25, 6.0  # distances between which drops are drawn [m]
_MAX = 30_000
_MARGIN = 1.15  # drops from beside the image fall into it


def slope_of(rate: float) -> float:
    """Slope of the number of drops by their diameter, exp(-slope D) [1/mm], by the rate [mm/h]."""
    return 4.1 * rate**-0.21


def drops(
    rate: float, left: float, right: float, bottom: float, top: float, rng: np.random.Generator
) -> np.ndarray:
    """Drops in a camera's view, (K, 4): x and y at unit distance, z [m], diameter [m].

    Args:
        rate: Rate of the rain [mm/h].
        left, right, bottom, top: Edges of the image at unit distance.
        rng: Draws them.
    """
    slope = slope_of(rate)
    per_volume = 8000.0 / slope * math.exp(-slope * _SMALLEST)
    volume = (_FARTHEST**3 - _NEAREST**3) / 3.0 * (right - left) * (top - bottom) * _MARGIN**2
    count = min(int(rng.poisson(per_volume * volume)), _MAX)
    u = rng.random((count, 4))
    x, y = 0.5 * (left + right), 0.5 * (bottom + top)
    return np.column_stack(
        [
            x + _MARGIN * (right - left) * (u[:, 0] - 0.5),
            y + _MARGIN * (top - bottom) * (u[:, 1] - 0.5),
            np.cbrt(_NEAREST**3 + u[:, 2] * (_FARTHEST**3 - _NEAREST**3)),
            1e-3 * (_SMALLEST - np.log(1.0 - u[:, 3]) / slope),
        ]
    )


@njit
def fall_speed(diameter: float) -> float:
    """Terminal speed of a drop [m/s] by its diameter [m]."""
    return 9.65 - 10.3 * math.exp(-600.0 * diameter)


@njit(nogil=True)
def streaks(
    image: np.ndarray,
    distance: np.ndarray,
    falling: np.ndarray,
    down: np.ndarray,
    vel: np.ndarray,
    seconds: float,
    bright: np.ndarray,
    left: float,
    bottom: float,
    pixel: float,
) -> None:
    """Draws drops into an image, in place.

    Args:
        image, distance: (h, w, 3) luminance, (h, w) [m].
        falling: See drops().
        down: (3,) unit vector downwards, forward, left and up of the camera.
        vel: (3,) of the camera, likewise [m/s].
        seconds: Duration of the exposure.
        bright: (3,) luminance of a drop.
        left, bottom, pixel: Edges and side of a pixel of the image at unit distance.
    """
    h, w = distance.shape
    for d in range(falling.shape[0]):
        x, y, z, size = falling[d]
        speed = fall_speed(size)
        half = 0.5 * seconds
        mf, ml, mu = speed * down[0] - vel[0], speed * down[1] - vel[1], speed * down[2] - vel[2]
        z0, z1 = z - half * mf, z + half * mf
        if min(z0, z1) < 0.5 * 0.25:
            continue
        u0 = ((-(-x * z - half * ml)) / z0 - left) / pixel
        v0 = ((y * z - half * mu) / z0 - bottom) / pixel
        u1 = ((-(-x * z + half * ml)) / z1 - left) / pixel
        v1 = ((y * z + half * mu) / z1 - bottom) / pixel
        length = math.hypot(u1 - u0, v1 - v0)
        wide = size / (z * pixel)
        alpha = min(1.0, wide) * wide / (length + wide)
        across = max(int(wide + 0.5), 1)
        steps = max(int(length + 0.5), 1)  # no pixel twice
        su, sv = (1, 0) if abs(v1 - v0) > abs(u1 - u0) else (0, 1)
        for k in range(steps):
            part = (k + 0.5) / steps
            for side in range(across):
                offset = side - 0.5 * (across - 1)
                u = math.floor(u0 + (u1 - u0) * part + offset * su)
                v = math.floor(v0 + (v1 - v0) * part + offset * sv)
                if 0 <= u < w and 0 <= v < h and distance[v, u] > z:
                    for c in range(3):
                        image[v, u, c] += alpha * (bright[c] - image[v, u, c])
