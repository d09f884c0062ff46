"""Stereo odometry: corners are tracked by optical flow, their depth comes from the right image,
and the pose from PnP with RANSAC against the last keyframe's points.

A process of its own, which reads stereo pairs from standard input and writes poses to standard
output as xtdrone_slam.benchmark.link says. No map, no loop closure, no IMU.
"""

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np

from xtdrone_slam.datasets import calibration
from xtdrone_slam.systems import baseline

_FLOW = {"winSize": (21, 21), "maxLevel": 4,
         "criteria": (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 0.01)}
_BACK = 0.5  # a track that does not lead back to within this is dropped [pixels]
_ROW = 1.5  # largest distance of a match from its epipolar line [pixels]
_DISPARITY = 1.5  # smallest one that gives a depth [pixels]
_REPROJECTION = 1.5  # of an inlier [pixels]
_LEAST = 12  # inliers that a pose needs
_SPACING = 18  # between corners [pixels]


class Odometry:
    """The pose of the body from one stereo pair after the other."""

    def __init__(self, stereo: calibration.Calibration, features: int = 300, keep: float = 0.5):
        """Begins at the identity.

        Args:
            stereo: Calibration of the pair.
            features: Corners of a keyframe.
            keep: A keyframe follows when fewer than this share of its corners is tracked.
        """
        self._left, self._right = stereo.left, stereo.right
        self._right_from_left = stereo.right_from_left
        self._features, self._keep = features, keep
        # (4, 4) left optical frame to the world, which is the body's first frame.
        self._world_from_camera = stereo.left.pose.copy()
        self._camera_from_body = np.linalg.inv(stereo.left.pose)
        self._last = None  # the last left image
        self._pixels = np.zeros((0, 1, 2), np.float32)  # tracks in it
        self._points = np.zeros((0, 3))  # their places in the keyframe's left optical frame [m]
        self._keyframe = self._world_from_camera
        self._count = 0  # tracks that the keyframe had

    def step(self, left: np.ndarray, right: np.ndarray):
        """Takes a pair.

        Args:
            left, right: (H, W) uint8.

        Returns:
            (4, 4) body to world, and the number of inliers; None and their number where the pose
            is lost. The first pair gives the identity.
        """
        inliers, lost = 0, False
        if self._last is not None:
            self._track(left)
            inliers = self._solve()
            lost = inliers < _LEAST
        if self._last is None or lost or inliers < self._keep * self._count:
            self._new_keyframe(left, right)
            inliers = inliers or self._count
        self._last = left
        return (None if lost else self._world_from_camera @ self._camera_from_body), inliers

    def _track(self, image):
        if len(self._pixels) == 0:
            return
        found, status = _flow(self._last, image, self._pixels)
        self._pixels, self._points = found[status], self._points[status]

    def _solve(self):
        """The pose from the tracks; returns the number of inliers."""
        if len(self._pixels) < _LEAST:
            return 0
        camera = self._left
        flat = cv2.undistortPoints(self._pixels, camera.matrix, np.array(camera.distortion))
        fine, turn, shift, inliers = cv2.solvePnPRansac(
            self._points, flat, np.eye(3), None, flags=cv2.SOLVEPNP_SQPNP, iterationsCount=100,
            reprojectionError=_REPROJECTION / camera.intrinsics[0], confidence=0.999)
        if not fine or inliers is None or len(inliers) < _LEAST:
            return 0
        inliers = inliers.ravel()
        turn, shift = cv2.solvePnPRefineLM(self._points[inliers], flat[inliers], np.eye(3), None,
                                           turn, shift)
        pose = np.eye(4)
        pose[:3, :3] = cv2.Rodrigues(turn)[0]
        pose[:3, 3] = shift.ravel()
        self._world_from_camera = self._keyframe @ np.linalg.inv(pose)
        self._pixels, self._points = self._pixels[inliers], self._points[inliers]
        return len(inliers)

    def _new_keyframe(self, left, right):
        """Corners of the left image, with their depths by the right one."""
        self._keyframe = self._world_from_camera
        corners = cv2.goodFeaturesToTrack(left, self._features, 0.005, _SPACING)
        self._pixels, self._points = np.zeros((0, 1, 2), np.float32), np.zeros((0, 3))
        if corners is not None:
            matches, status = _flow(left, right, corners)
            points, seen = self._triangulated(corners, matches)
            status &= seen
            self._pixels, self._points = corners[status], points[status]
        self._count = len(self._pixels)

    def _triangulated(self, left, right):
        """Places in the left optical frame (M, 3) [m], and which of them can be trusted."""
        focal = self._left.intrinsics[0]
        flat = [cv2.undistortPoints(pixels, camera.matrix, np.array(camera.distortion))[:, 0]
                for camera, pixels in ((self._left, left), (self._right, right))]
        pose = self._right_from_left
        places = cv2.triangulatePoints(np.eye(3, 4), pose[:3], flat[0].T.astype(float),
                                       flat[1].T.astype(float))
        points = (places[:3] / np.where(np.abs(places[3]) < 1e-12, 1e-12, places[3])).T
        seen_right = points @ pose[:3, :3].T + pose[:3, 3]
        deep = np.where(seen_right[:, 2:] > 0.05, seen_right[:, 2:], np.inf)
        off = focal * np.linalg.norm(seen_right[:, :2] / deep - flat[1], axis=1)
        baseline = np.linalg.norm(pose[:3, 3])
        near = (points[:, 2] > 0.1) & (points[:, 2] < focal * baseline / _DISPARITY)
        return points, near & (off < _ROW)


def _flow(first, second, pixels):
    """Tracks (M, 1, 2) from an image to another; and which ones lead back to their start."""
    found, there, _ = cv2.calcOpticalFlowPyrLK(first, second, pixels, None, **_FLOW)
    again, back, _ = cv2.calcOpticalFlowPyrLK(second, first, found, None, **_FLOW)
    apart = np.linalg.norm(again - pixels, axis=2).ravel()
    height, width = second.shape
    x, y = found[:, 0].T
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return found, (there.ravel() == 1) & (back.ravel() == 1) & (apart < _BACK) & inside


def main() -> int:
    """Runs until the images end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path, help="folder with mav0, for its calibration")
    parser.add_argument("--features", type=int, default=300)
    parser.add_argument("--keep", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    cv2.setNumThreads(args.threads)
    return baseline.run(args.dataset, lambda stereo: Odometry(stereo, args.features, args.keep))


if __name__ == "__main__":
    sys.exit(main())
