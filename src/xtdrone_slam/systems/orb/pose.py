"""Camera pose from observed points by robust Gauss-Newton."""

import numpy as np
from scipy.spatial.transform import Rotation

from .features import Pinhole

HUBER = 2.45  # sqrt of the 95 % quantile of chi squared with 2 degrees of freedom [sigmas]
OUTLIER = 2.8  # sqrt of the 95 % quantile with 3 degrees of freedom [sigmas]


def residuals(
    camera: Pinhole,
    camera_from_world: np.ndarray,
    points: np.ndarray,
    seen: np.ndarray,
    sigma: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Computes reprojection errors, observed minus predicted, in sigmas.

    Args:
        camera: The camera.
        camera_from_world: (4, 4).
        points: (N, 3) in the world [m].
        seen: (N, 3) u, u right or NaN, v [pixels].
        sigma: (N,) [pixels].

    Returns:
        (N, 3), 0 for missing coordinates; and the points in the camera frame (N, 3).
    """
    local = points @ camera_from_world[:3, :3].T + camera_from_world[:3, 3]
    ahead = local.copy()
    ahead[:, 2] = np.maximum(ahead[:, 2], 0.05)
    error = (seen - camera.project(ahead)) / sigma[:, None]
    return np.where(np.isnan(error), 0.0, error), ahead


def refine(
    camera: Pinhole,
    camera_from_world: np.ndarray,
    points: np.ndarray,
    seen: np.ndarray,
    sigma: np.ndarray,
    iterations: int = 8,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the pose that fits the observations best, and their inliers.

    Gauss-Newton with Huber weights on the reprojection errors in both images; the pose is updated
    from the left by exp(translation, rotation).

    Returns:
        (4, 4) camera_from_world, and (N,) bool of the inliers.
    """
    pose = camera_from_world.copy()
    inliers = np.ones(len(points), bool)
    for step in range(iterations):
        error, local = residuals(camera, pose, points, seen, sigma)
        norm = np.linalg.norm(error, axis=1)
        inliers = norm < (OUTLIER if step >= iterations // 2 else 4.0 * OUTLIER)
        if inliers.sum() < 6:
            return pose, inliers
        weight = np.where(inliers, np.minimum(1.0, HUBER / np.maximum(norm, 1e-9)), 0.0)
        jacobian = _jacobian(camera, local, seen, sigma)
        weighted = jacobian * weight[:, None, None]
        normal = np.einsum("nij,nik->jk", weighted, jacobian)
        delta = np.linalg.solve(normal + 1e-6 * np.eye(6), np.einsum("nij,ni->j", weighted, error))
        change = np.eye(4)
        change[:3, :3] = Rotation.from_rotvec(delta[3:]).as_matrix()
        change[:3, 3] = delta[:3]
        pose = change @ pose
        if np.linalg.norm(delta) < 1e-7:
            break
    error, _ = residuals(camera, pose, points, seen, sigma)
    return pose, np.linalg.norm(error, axis=1) < OUTLIER


def _jacobian(
    camera: Pinhole, local: np.ndarray, seen: np.ndarray, sigma: np.ndarray
) -> np.ndarray:
    """Returns derivatives (N, 3, 6) of projections by translation and rotation, in sigmas."""
    x, y, z = local.T
    zero = np.zeros_like(x)
    scale = camera.focal / z
    by_point = np.stack(
        [
            np.stack([scale, zero, -scale * x / z], axis=1),
            np.stack([scale, zero, -scale * (x - camera.baseline) / z], axis=1),
            np.stack([zero, scale, -scale * y / z], axis=1),
        ],
        axis=1,
    )
    skew = np.stack(
        [
            np.stack([zero, z, -y], axis=1),
            np.stack([-z, zero, x], axis=1),
            np.stack([y, -x, zero], axis=1),
        ],
        axis=1,
    )  # minus the cross-product matrix
    result = np.concatenate([by_point, by_point @ skew], axis=2) / sigma[:, None, None]
    result[np.isnan(seen[:, 1]), 1] = 0.0
    return result
