"""Equidistant (fisheye) lens: Kannala and Brandt's model, as OpenCV and Kalibr have it.

A ray at the angle theta from the optical axis meets the image at the distance

    theta_d = theta (1 + k1 theta^2 + k2 theta^4 + k3 theta^6 + k4 theta^8)

from the principal point, in focal lengths (IEEE Transactions on Pattern Analysis and Machine
Intelligence 28(8), 2006, equation 6). What is more than WIDEST from the axis is not rendered, since
images are looked up in that of a pinhole: there, outside the image circle, it is dark.
"""

import math
from typing import TypeVar

import numpy as np

# Types of SDF's <lens> as k1 to k4: their series, to 0.1 % of the distance up to WIDEST.
PROJECTIONS = {
    "equidistant": (0.0, 0.0, 0.0, 0.0),
    "stereographic": (1 / 12, 1 / 120, 17 / 20160, 31 / 362880),  # 2 tan(theta / 2)
    "equisolid_angle": (-1 / 24, 1 / 1920, -1 / 322560, 1 / 92897280),  # 2 sin(theta / 2)
    "orthographic": (-1 / 6, 1 / 120, -1 / 5040, 1 / 362880),  # sin(theta)
}
PINHOLE = "gnomonical"  # the type of SDF's <lens> that is none of them
WIDEST = math.radians(80.0)  # largest angle from the axis [rad]
_NEWTON_STEPS = 20
_SAMPLES = 256  # angles at which the model is checked


Angle = TypeVar("Angle", float, np.ndarray)


def bend(theta: Angle, coefficients: tuple[float, float, float, float]) -> Angle:
    """Returns distances in the image, in focal lengths, of angles from the axis [rad]."""
    k1, k2, k3, k4 = coefficients
    square = theta * theta
    return theta * (1.0 + square * (k1 + square * (k2 + square * (k3 + square * k4))))


def straighten(
    x: np.ndarray, y: np.ndarray, coefficients: tuple[float, float, float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns coordinates at unit distance of points in the image, in focal lengths.

    Args:
        x, y: (H, W) from the principal point, right and down.
        coefficients: k1 to k4.

    Returns:
        (H, W) each; NaN beyond WIDEST, or beyond the angle from which the distortion folds the
        image over itself.
    """
    widest = _widest(coefficients)
    distance = np.hypot(x, y)
    limit = bend(widest, coefficients)
    inside = distance <= limit
    theta = np.where(inside, np.minimum(distance, widest), 0.0)
    for _ in range(_NEWTON_STEPS):
        error = np.where(inside, bend(theta, coefficients) - distance, 0.0)
        theta = np.clip(theta - error / _slope(theta, coefficients), 0.0, widest)
    scale = np.where(distance > 1e-9, np.tan(theta) / np.maximum(distance, 1e-9), 1.0)
    scale = np.where(inside, scale, np.nan)
    return x * scale, y * scale


def project(
    points: np.ndarray, coefficients: tuple[float, float, float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns where points (M, 3) in the optical frame are in the image, in focal lengths."""
    x, y, z = np.asarray(points, dtype=float).T
    flat = np.hypot(x, y)
    scale = bend(np.arctan2(flat, z), coefficients) / np.maximum(flat, 1e-12)
    return x * scale, y * scale


def _slope(theta: np.ndarray, coefficients: tuple[float, float, float, float]) -> np.ndarray:
    """Returns the derivative of bend()."""
    k1, k2, k3, k4 = coefficients
    square = theta * theta
    slope: np.ndarray = 1.0 + square * (
        3.0 * k1 + square * (5.0 * k2 + square * (7.0 * k3 + square * 9.0 * k4))
    )
    return slope


def _widest(coefficients: tuple[float, float, float, float]) -> float:
    """Returns the largest angle up to which the distance in the image grows, at most WIDEST."""
    angles = np.linspace(0.0, WIDEST, _SAMPLES)
    folded = np.flatnonzero(_slope(angles, coefficients) < 1e-3)
    return float(angles[folded[0] - 1]) if len(folded) else WIDEST
