"""A SLAM system of your own: stereo odometry by optical flow and PnP, in one file.

The corners of a keyframe get their depth from the right image. Optical flow follows them through
the left images, and the pose of each image is the one that projects the keyframe's points onto
them. When fewer than half are left, the image becomes the next keyframe. The system sees images and
calibration only, never the true pose.
"""

import sys

import cv2
import numpy as np

from xtdrone_slam.datasets import calibration, lenses
from xtdrone_slam.systems import baseline

_MIN = 12  # points that a pose needs
_SPACING = 14  # between two corners [pixels]
_ERROR = 1.5  # largest reprojection error of a point that counts [pixels]


class MySlam:
    """Any class with such a step() is a system; this one starts with the body at the identity."""

    def __init__(self, stereo: calibration.Calibration, features: int):
        """For the calibration of a stereo pair and the number of corners in a keyframe."""
        cv2.setNumThreads(1)
        rectified = lenses.rectification(stereo)  # rotations and projections of both cameras
        self.maps = [
            lenses.rectifying_maps(camera, turn, projection, cv2.CV_16SC2)
            for camera, turn, projection in zip(
                (stereo.left, stereo.right), rectified, rectified[2:]
            )
        ]
        self.k = rectified[2][:, :3]
        self.baseline = -rectified[3][0, 3] / self.k[0, 0]  # [m]
        self.camera_in_body = stereo.left.pose  # (4, 4) of the rectified left camera
        self.camera_in_body[:3, :3] @= rectified[0].T
        self.features = features
        self.keyframe = self.pose = self.camera_in_body  # (4, 4) camera to world
        self.last = None  # the left image before this one
        self.pixels = np.zeros((0, 1, 2), np.float32)  # where the points are in it
        self.points = np.zeros((0, 3))  # in the camera of the keyframe [m]

    def step(self, left: np.ndarray, right: np.ndarray) -> tuple:
        """The pose (4, 4) of the body, None if tracking is lost; and the number of points.

        Args:
            left, right: Images (H, W) uint8.
        """
        left, right = (
            cv2.remap(image, *maps, cv2.INTER_LINEAR)
            for image, maps in zip((left, right), self.maps)
        )
        first = self.last is None
        count = 0 if first else self.track(left)
        if count < self.features / 2:
            self.make_keyframe(left, right)
        self.last = left
        if count < _MIN and not first:
            return None, count
        return self.pose @ np.linalg.inv(self.camera_in_body), len(self.points)

    def track(self, left):
        """Follows the points into an image and solves for its pose; returns how many are left."""
        self.pixels, good = flow(self.last, left, self.pixels)
        self.pixels, self.points = self.pixels[good], self.points[good]
        if len(self.points) < _MIN:
            return 0
        found, rotation, translation, inliers = cv2.solvePnPRansac(
            self.points,
            self.pixels,
            self.k,
            None,
            reprojectionError=_ERROR,
            confidence=0.999,
            flags=cv2.SOLVEPNP_SQPNP,
        )
        if not found or len(inliers) < _MIN:
            return 0
        self.pixels, self.points = self.pixels[inliers.ravel()], self.points[inliers.ravel()]
        rotation, translation = cv2.solvePnPRefineLM(
            self.points, self.pixels, self.k, None, rotation, translation
        )
        camera_from_keyframe = np.eye(4)
        camera_from_keyframe[:3, :3] = cv2.Rodrigues(rotation)[0]
        camera_from_keyframe[:3, 3] = translation[:, 0]
        self.pose = self.keyframe @ np.linalg.inv(camera_from_keyframe)
        return len(self.points)

    def make_keyframe(self, left, right):
        """Replaces the points by new corners, at the depths that their disparities give."""
        self.keyframe = self.pose
        corners = cv2.goodFeaturesToTrack(left, self.features, 0.005, _SPACING)
        if corners is None:
            corners = np.zeros((0, 1, 2), np.float32)
        matches, good = flow(left, right, corners)
        disparity, rise = (corners - matches)[:, 0].T
        good &= (disparity > 1.5) & (np.abs(rise) < 1.0)  # the images are rectified
        self.pixels = corners[good]
        rays = cv2.undistortPoints(self.pixels, self.k, None).reshape(-1, 2)
        depth = self.k[0, 0] * self.baseline / disparity[good]
        self.points = np.column_stack([rays, np.ones(len(rays))]) * depth[:, None]


def flow(first, second, pixels):
    """Optical flow of pixels (N, 1, 2) there and back; where it leads, and which are reliable."""
    if len(pixels) == 0:
        return pixels, np.zeros(0, bool)
    options = {"winSize": (21, 21), "maxLevel": 4}
    found, status, _ = cv2.calcOpticalFlowPyrLK(first, second, pixels, None, **options)
    again, _, _ = cv2.calcOpticalFlowPyrLK(second, first, found, None, **options)
    height, width = second.shape
    inside = ((found >= 0) & (found < (width, height))).all(axis=(1, 2))
    return found, (status[:, 0] == 1) & inside & (np.abs(again - pixels).max(axis=(1, 2)) < 0.5)


if __name__ == "__main__":
    sys.exit(baseline.main(__doc__, MySlam, {"features": 400}))
