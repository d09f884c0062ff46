"""Pose of a marker in the frame of a camera, with its covariance.

The two poses of a square are those of Collins and Bartoli, "Infinitesimal Plane-Based Pose
Estimation", IJCV 2014, as OpenCV has them. The covariance is that of least squares: the variance of
a corner, propagated by the derivatives of the projection at the solution.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sensor_models.cameras import CameraParameters

from .detect import APRILTAG, OPENCV, Seen
from .families import Marker, require_opencv

# Standard deviation of a coordinate of a corner in a sharp image, by the library [pixels].
CORNER_STDDEV = {OPENCV: 0.3, APRILTAG: 0.1}
# From the optical frame (x right, y down, z ahead) to the camera's (x ahead, y left, z up).
_CAMERA_FROM_OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])


@dataclass(frozen=True)
class MarkerPose:
    """Pose of a marker, or of concentric ones together, in the frame of a camera.

    The marker's frame has x to the right and y up as printed, z towards who looks at it; the
    camera's has x ahead, y left, z up.
    """

    ids: tuple[int, ...]  # of the markers that were seen
    pos: np.ndarray  # (3,) of the middle [m]
    rotation: np.ndarray  # (3, 3) marker to camera
    covariance: np.ndarray  # (6, 6) of position [m^2], then of rotation about the camera's axes
    error: float  # root mean square distance of the corners from the projection [pixels]


def estimate(
    markers: Mapping[int, Marker] | Sequence[Marker],
    seen: Sequence[Seen],
    camera: CameraParameters,
    corner_stddev: float = CORNER_STDDEV[OPENCV],
) -> MarkerPose | None:
    """Estimates the pose of concentric markers.

    Args:
        markers: Those that count, of any family, by number or in a row.
        seen: What a detector found.
        camera: The camera of the image.
        corner_stddev: Standard deviation of each coordinate of a corner [pixels].

    Returns:
        The pose; None where none of them is seen.
    """
    known = {
        (marker.family, marker.id): marker
        for marker in (markers.values() if isinstance(markers, Mapping) else markers)
    }
    used = [(known[key], one) for one in seen if (key := (one.family, one.id)) in known]
    if not used:
        return None
    used.sort(key=lambda pair: -pair[0].size)
    points = np.concatenate([_corners(marker) for marker, _ in used])
    pixels = np.concatenate([one.corners for _, one in used])
    return _solve(points, pixels, camera, corner_stddev, tuple(one.id for _, one in used))


def _solve(
    points: np.ndarray,
    pixels: np.ndarray,
    camera: CameraParameters,
    corner_stddev: float,
    ids: tuple[int, ...],
) -> MarkerPose | None:
    cv2: Any = require_opencv()
    flat = undistorted(pixels, camera)
    count, rotations, translations, _ = cv2.solvePnPGeneric(
        points[:4], flat[:4], np.eye(3), None, flags=cv2.SOLVEPNP_IPPE_SQUARE
    )
    best: tuple[float, Any, Any] | None = None
    for rotation, translation in zip(rotations[:count], translations[:count]):
        rotation, translation = cv2.solvePnPRefineLM(
            points, flat, np.eye(3), None, rotation, translation
        )
        projected, _ = cv2.projectPoints(points, rotation, translation, np.eye(3), None)
        error = float(np.sqrt(np.mean(np.sum((projected[:, 0] - flat) ** 2, axis=1))))
        if translation[2, 0] > 0.0 and (best is None or error < best[0]):
            best = error, rotation, translation
    if best is None:
        return None
    error, rotation, translation = best
    _, derivatives = cv2.projectPoints(points, rotation, translation, np.eye(3), None)
    matrix = np.asarray(cv2.Rodrigues(rotation)[0])
    return MarkerPose(
        ids,
        _CAMERA_FROM_OPTICAL @ translation[:, 0],
        _CAMERA_FROM_OPTICAL @ matrix,
        _covariance(derivatives, rotation[:, 0], corner_stddev / camera.fx),
        error * camera.fx,
    )


def _covariance(derivatives: np.ndarray, rotation: np.ndarray, stddev: float) -> np.ndarray:
    """Covariance (6, 6) in the camera's frame.

    Args:
        derivatives: OpenCV's of the projection, by rotation vector and translation first.
        rotation: (3,) rotation vector.
        stddev: Of a coordinate of a corner, at unit distance.
    """
    by_position, by_vector = derivatives[:, 3:6], derivatives[:, :3]
    by_angle = by_vector @ np.linalg.inv(_left_jacobian(rotation))
    jacobian = np.hstack([by_position, by_angle])
    information = jacobian.T @ jacobian / stddev**2
    turn = np.kron(np.eye(2), _CAMERA_FROM_OPTICAL)
    return np.asarray(turn @ np.linalg.pinv(information) @ turn.T)


def _left_jacobian(vector: np.ndarray) -> np.ndarray:
    """Small turns (3, 3) that follow a rotation, by changes of its vector (3,)."""
    angle = float(np.linalg.norm(vector))
    x, y, z = vector
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    if angle < 1e-6:
        return np.eye(3) + 0.5 * cross
    return np.asarray(
        np.eye(3)
        + (1.0 - np.cos(angle)) / angle**2 * cross
        + (angle - np.sin(angle)) / angle**3 * cross @ cross
    )


def undistorted(pixels: np.ndarray, camera: CameraParameters) -> np.ndarray:
    """Returns the coordinates (P, 2) at unit distance of pixels (P, 2), x right and y down."""
    cv2: Any = require_opencv()
    matrix = np.array(camera.camera_matrix)
    points = np.asarray(pixels, float).reshape(-1, 1, 2)
    if camera.is_fisheye:
        flat = cv2.fisheye.undistortPoints(points, matrix, np.array(camera.fisheye_distortion))
    else:
        flat = cv2.undistortPoints(points, matrix, np.array(camera.distortion))
    return np.asarray(flat).reshape(-1, 2)


def _corners(marker: Marker) -> np.ndarray:
    """(4, 3) of the black square, upper left, then clockwise [m]."""
    half = 0.5 * marker.size
    return half * np.array([[-1.0, 1, 0], [1, 1, 0], [1, -1, 0], [-1, -1, 0]])
