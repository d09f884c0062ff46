"""Motion blur by the camera's own motion during the exposure."""

import math

import numpy as np

from xtdrone_dynamics.compiled import njit

_MAX = 64  # samples of a pixel
ATTACHED = 0.5  # what is nearer is taken as a part of the camera's own vehicle [m]


@njit(inline="always")
def image_velocity(
    x: float, y: float, z: float, vel: np.ndarray, ang: np.ndarray
) -> tuple[float, float]:
    """How fast a still point moves in the image, at unit distance [1/s].

    Args:
        x, y: Where it is, x to the right and y up, at unit distance.
        z: Along the optical axis [m]; inf for the sky.
        vel, ang: (3,) of the camera, forward, left and up of itself [m/s], [rad/s].
    """
    near = 1.0 / z
    # Of a point at (1, -x, y) times z: minus the camera's velocity, and minus ang x point.
    f = -vel[0] * near - (ang[1] * y + ang[2] * x)
    left = -vel[1] * near - (ang[2] - ang[0] * y)
    up = -vel[2] * near - (-ang[0] * x - ang[1])
    return -left - x * f, up - y * f


@njit(nogil=True)
def blurred(
    image: np.ndarray,
    distance: np.ndarray,
    vel: np.ndarray,
    ang: np.ndarray,
    seconds: float,
    left: float,
    bottom: float,
    pixel: float,
) -> np.ndarray:
    """The mean of an image over an exposure, whose middle it shows.

    Args:
        image: (h, w, 3) luminance.
        distance: (h, w) along the optical axis [m].
        vel, ang: See image_velocity().
        seconds: The exposure's.
        left, bottom, pixel: Edges and pixel of the image at unit distance, see normals_of().
    """
    h, w = distance.shape
    out = np.empty_like(image)
    for v in range(h):
        for u in range(w):
            z = distance[v, u]
            du, dv = 0.0, 0.0
            if z > ATTACHED:
                du, dv = image_velocity(
                    left + (u + 0.5) * pixel, bottom + (v + 0.5) * pixel, z, vel, ang
                )
                du, dv = du * seconds / pixel, dv * seconds / pixel
            count = min(2 * math.ceil(max(abs(du), abs(dv))) + 1, _MAX)
            r, g, b = 0.0, 0.0, 0.0
            for k in range(count):
                part = (k + 0.5) / count - 0.5
                uu = min(max(math.floor(u + du * part + 0.5), 0), w - 1)
                vv = min(max(math.floor(v + dv * part + 0.5), 0), h - 1)
                r += image[vv, uu, 0]
                g += image[vv, uu, 1]
                b += image[vv, uu, 2]
            out[v, u, 0], out[v, u, 1], out[v, u, 2] = r / count, g / count, b / count
    return out
