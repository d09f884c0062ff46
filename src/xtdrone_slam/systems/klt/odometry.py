"""Stereo odometry: KLT tracks, depth by triangulation, pose by PnP with RANSAC against the points
of the last keyframe.

Runs as a process of its own: stereo pairs on standard input, poses on standard output, in the
protocol of xtdrone_slam.benchmark.link. No map, no loop closure, no IMU.
"""

import sys

import cv2
import numpy as np

from xtdrone_slam.datasets import calibration
from xtdrone_slam.datasets.lenses import undistorted
from xtdrone_slam.systems import baseline

_FLOW = {
    "winSize": (21, 21),
    "maxLevel": 4,
    "criteria": (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 0.01),
}
_FORWARD_BACKWARD = 0.5  # largest forward-backward error of a track [pixels]
_EPIPOLAR = 1.5  # largest distance of a match from its epipolar line [pixels]
_MIN_DISPARITY = 1.5  # a point with less has no depth [pixels]
_REPROJECTION = 1.5  # largest error of an inlier [pixels]
_MIN_INLIERS = 12  # needed for a pose
_SPACING = 18  # minimum distance between corners [pixels]


class Odometry:
    """Stereo odometry by optical flow; call step() for each pair."""

    def __init__(
        self,
        stereo: calibration.Calibration,
        features: int = 300,
        keep: float = 0.5,
        threads: int = 1,
    ) -> None:
        """Starts at the identity.

        Args:
            stereo: Calibration of the pair.
            features: Corners in a keyframe.
            keep: A new keyframe is made when less than this fraction of the corners is tracked.
            threads: Number of threads of OpenCV.
        """
        cv2.setNumThreads(threads)
        self._left, self._right = stereo.left, stereo.right
        self._right_from_left = stereo.right_from_left
        self._features, self._keep = features, keep
        # (4, 4) left optical frame to the world, which is the body's first frame.
        self._world_from_camera = stereo.left.pose.copy()
        self._camera_from_body = np.linalg.inv(stereo.left.pose)
        self._last: np.ndarray | None = None  # the last left image
        self._pixels = np.zeros((0, 1, 2), np.float32)  # tracks in it
        self._points = np.zeros((0, 3))  # their positions in the keyframe's left camera [m]
        self._keyframe = self._world_from_camera
        self._count = 0  # tracks at the keyframe

    def step(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray | None, int]:
        """Processes a pair.

        Args:
            left, right: (H, W) uint8.

        Returns:
            (4, 4) body to world, or None if tracking is lost; and the number of inliers. The first
            pair gives the identity.
        """
        inliers, lost = 0, False
        if self._last is not None:
            self._track(self._last, left)
            inliers = self._solve()
            lost = inliers < _MIN_INLIERS
        if self._last is None or lost or inliers < self._keep * self._count:
            self._new_keyframe(left, right)
            inliers = inliers or self._count
        self._last = left
        return (None if lost else self._world_from_camera @ self._camera_from_body), inliers

    def _track(self, last: np.ndarray, image: np.ndarray) -> None:
        if len(self._pixels) == 0:
            return
        tracks, status = _flow(last, image, self._pixels)
        self._pixels, self._points = tracks[status], self._points[status]

    def _solve(self) -> int:
        """Estimates the pose from the tracks; returns the number of inliers."""
        if len(self._pixels) < _MIN_INLIERS:
            return 0
        camera = self._left
        flat = undistorted(camera, self._pixels)
        ok, rotation, translation, inliers = cv2.solvePnPRansac(
            self._points,
            flat,
            np.eye(3),
            None,
            flags=cv2.SOLVEPNP_SQPNP,
            iterationsCount=100,
            reprojectionError=_REPROJECTION / camera.intrinsics[0],
            confidence=0.999,
        )
        if not ok or inliers is None or len(inliers) < _MIN_INLIERS:
            return 0
        inliers = inliers.ravel()
        rotation, translation = cv2.solvePnPRefineLM(
            self._points[inliers], flat[inliers], np.eye(3), None, rotation, translation
        )
        pose = np.eye(4)
        pose[:3, :3] = cv2.Rodrigues(rotation)[0]
        pose[:3, 3] = translation.ravel()
        self._world_from_camera = self._keyframe @ np.linalg.inv(pose)
        self._pixels, self._points = self._pixels[inliers], self._points[inliers]
        return len(inliers)

    def _new_keyframe(self, left: np.ndarray, right: np.ndarray) -> None:
        """Detects corners in the left image and triangulates them by the right one."""
        self._keyframe = self._world_from_camera
        corners = cv2.goodFeaturesToTrack(left, self._features, 0.005, _SPACING)
        self._pixels, self._points = np.zeros((0, 1, 2), np.float32), np.zeros((0, 3))
        if corners is not None:
            matches, status = _flow(left, right, corners)
            points, valid = self._triangulate(corners, matches)
            status &= valid
            self._pixels, self._points = corners[status], points[status]
        self._count = len(self._pixels)

    def _triangulate(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns positions in the left optical frame (M, 3) [m], and which of them are valid."""
        focal = self._left.intrinsics[0]
        flat = [
            undistorted(camera, pixels)[:, 0]
            for camera, pixels in ((self._left, left), (self._right, right))
        ]
        pose = self._right_from_left
        homogeneous = cv2.triangulatePoints(
            np.eye(3, 4), pose[:3], flat[0].T.astype(float), flat[1].T.astype(float)
        )
        w = np.where(np.abs(homogeneous[3]) < 1e-12, 1e-12, homogeneous[3])
        points = (homogeneous[:3] / w).T
        in_right = points @ pose[:3, :3].T + pose[:3, 3]
        depth = np.where(in_right[:, 2:] > 0.05, in_right[:, 2:], np.inf)
        error = focal * np.linalg.norm(in_right[:, :2] / depth - flat[1], axis=1)
        baseline = np.linalg.norm(pose[:3, 3])
        near = (points[:, 2] > 0.1) & (points[:, 2] < focal * baseline / _MIN_DISPARITY)
        return points, near & (error < _EPIPOLAR)


def _flow(
    first: np.ndarray, second: np.ndarray, pixels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Tracks (M, 1, 2) from one image to another, and which pass the forward-backward check."""
    tracks, forward, _ = cv2.calcOpticalFlowPyrLK(first, second, pixels, None, **_FLOW)
    again, backward, _ = cv2.calcOpticalFlowPyrLK(second, first, tracks, None, **_FLOW)
    error = np.linalg.norm(again - pixels, axis=2).ravel()
    height, width = second.shape
    x, y = tracks[:, 0].T
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    tracked = (forward.ravel() == 1) & (backward.ravel() == 1)
    return tracks, tracked & (error < _FORWARD_BACKWARD) & inside


if __name__ == "__main__":
    sys.exit(baseline.main(__doc__, Odometry, {"features": 300, "keep": 0.5, "threads": 1}))
