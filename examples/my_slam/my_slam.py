"""A system of one's own: the motion from one stereo pair to the next, by ORB features and PnP."""

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np

from xtdrone_slam.systems import baseline


class MySlam:
    """Any class with step() will do. It assumes a rectified pair, as the simulated one is."""

    def __init__(self, stereo, features):
        """For a calibration.Calibration."""
        self.k = stereo.left.matrix
        self.base = -stereo.right_from_left[0, 3]  # from the left to the right camera [m]
        self.camera = stereo.left.pose  # (4, 4) of the left camera in the body
        self.orb = cv2.ORB_create(features)
        self.matcher = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True)
        self.pose = np.eye(4)  # of the left camera, in the first one
        self.points = self.words = None  # of the last pair: places (N, 3) [m] and descriptors

    def step(self, left, right):
        """Pose (4, 4) of the body in a world of its own, or None where lost; and features."""
        sides = [self.orb.detectAndCompute(image, None) for image in (left, right)]
        if any(words is None for _, words in sides):
            return None, 0
        (corners, words), (others, other_words) = sides
        if self.points is not None:
            found = self.matcher.match(self.words, words)
            places = np.array([self.points[match.queryIdx] for match in found])
            pixels = np.array([corners[match.trainIdx].pt for match in found])
            if len(found) < 6:
                return None, len(found)
            known, turn, shift, _good = cv2.solvePnPRansac(
                places, pixels, self.k, None, reprojectionError=1.0)
            if not known:
                return None, len(found)
            step = np.eye(4)  # from the last camera to this one
            step[:3, :3], step[:3, 3] = cv2.Rodrigues(turn)[0], shift[:, 0]
            self.pose = self.pose @ np.linalg.inv(step)
        pairs = [(corners[match.queryIdx].pt, others[match.trainIdx].pt, match.queryIdx)
                 for match in self.matcher.match(words, other_words)]
        pairs = [(a, b, i) for a, b, i in pairs if abs(a[1] - b[1]) < 2 and a[0] - b[0] > 1]
        depth = np.array([self.k[0, 0] * self.base / (a[0] - b[0]) for a, b, _ in pairs])
        rays = np.array([[*a, 1.0] for a, _, _ in pairs]).reshape(-1, 3) @ np.linalg.inv(self.k).T
        self.points, self.words = rays * depth[:, None], words[[i for *_, i in pairs]]
        return self.camera @ self.pose @ np.linalg.inv(self.camera), len(pairs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--features", type=int, default=400)
    args = parser.parse_args()
    sys.exit(baseline.run(args.dataset, lambda stereo: MySlam(stereo, args.features)))
