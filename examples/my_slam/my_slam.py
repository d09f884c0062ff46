"""A SLAM system of your own: frame-to-frame stereo odometry by ORB features and PnP."""

import sys

import cv2
import numpy as np

from xtdrone_slam.systems import baseline


class MySlam:
    """Any class with a step() method will do. This one assumes rectified images."""

    def __init__(self, stereo, features):
        """For the calibration of a stereo pair (calibration.Calibration)."""
        self.k = stereo.left.matrix
        self.baseline = -stereo.right_from_left[0, 3]  # [m]
        self.body_from_camera = stereo.left.pose
        self.orb = cv2.ORB_create(features)
        self.matcher = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)
        self.pose = np.eye(4)  # of the left camera, in its first frame
        self.points = self.descriptors = None  # of the last pair: (N, 3) [m]; (N, 32)

    def step(self, left, right):
        """Pose (4, 4) of the body, or None if tracking is lost; and the number of features."""
        images = [self.orb.detectAndCompute(image, None) for image in (left, right)]
        if any(descriptors is None for _, descriptors in images):
            return None, 0
        (corners, descriptors), (right_corners, right_descriptors) = images
        if self.points is not None:
            matches = self.matcher.match(self.descriptors, descriptors)
            points = np.array([self.points[match.queryIdx] for match in matches])
            pixels = np.array([corners[match.trainIdx].pt for match in matches])
            if len(matches) < 6:
                return None, len(matches)
            ok, rotation, translation, _ = cv2.solvePnPRansac(
                points, pixels, self.k, None, reprojectionError=1.0)
            if not ok:
                return None, len(matches)
            step = np.eye(4)  # from the last camera frame to this one
            step[:3, :3], step[:3, 3] = cv2.Rodrigues(rotation)[0], translation[:, 0]
            self.pose = self.pose @ np.linalg.inv(step)
        pairs = [(corners[match.queryIdx].pt, right_corners[match.trainIdx].pt, match.queryIdx)
                 for match in self.matcher.match(descriptors, right_descriptors)]
        pairs = [(a, b, i) for a, b, i in pairs if abs(a[1] - b[1]) < 2 and a[0] - b[0] > 1]
        depth = np.array([self.k[0, 0] * self.baseline / (a[0] - b[0]) for a, b, _ in pairs])
        rays = np.array([[*a, 1.0] for a, _, _ in pairs]).reshape(-1, 3) @ np.linalg.inv(self.k).T
        self.points = rays * depth[:, None]
        self.descriptors = descriptors[[i for *_, i in pairs]]
        pose = self.body_from_camera @ self.pose @ np.linalg.inv(self.body_from_camera)
        return pose, len(pairs)


if __name__ == "__main__":
    sys.exit(baseline.main(__doc__, MySlam, {"features": 400}))
