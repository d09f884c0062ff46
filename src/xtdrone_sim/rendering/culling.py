"""What a camera may see: spheres about things against the pyramid of its view."""

import math

import numpy as np
import numpy.typing as npt

from sensor_models.lens import Pinhole

_SLACK = 0.01  # of a sphere's radius and of the view's sides: a renderer rounds in its own way


def in_view(
    centre: np.ndarray,
    radius: np.ndarray,
    pos: npt.ArrayLike,
    axes: np.ndarray,
    pinhole: Pinhole,
    near: float,
    far: float,
) -> np.ndarray:
    """Which spheres reach into the view of a pinhole camera.

    Args:
        centre: (G, 3) world [m].
        radius: (G,) [m].
        pos: (3,) of the camera, world [m].
        axes: (3, 3) forward, left and up as columns, world.
        pinhole: Its image.
        near, far: Nothing nearer or further is drawn [m].

    Returns:
        (G,) bool.
    """
    forward, left, up = ((centre - np.asarray(pos, dtype=float)) @ axes).T
    reach = (1.0 + _SLACK) * radius
    seen = (forward + reach > near) & (forward - reach < far)
    # The inward distance from each side plane, which goes through the camera.
    for across, side in (
        (-left, -pinhole.left),
        (left, pinhole.right),
        (-up, -pinhole.top),
        (up, pinhole.bottom),
    ):
        slope = side + _SLACK * abs(side)
        seen &= across + slope * forward > -reach * math.hypot(1.0, slope)
    return seen
