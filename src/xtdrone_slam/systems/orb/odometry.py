"""Stereo SLAM: ORB features are matched to a map of landmarks, the pose comes from PnP and robust
Gauss-Newton, and every keyframe is followed by a bundle adjustment of the last ones.

A process of its own, which reads stereo pairs from standard input and writes poses to standard
output as xtdrone_slam.benchmark.link says. No loop closure, no IMU.
"""

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np

from xtdrone_slam.datasets import calibration
from xtdrone_slam.systems import baseline

from .adjustment import adjust
from .features import Extractor, follow, match
from .landmarks import Keyframe, Map
from .pose import refine

_NARROW, _WIDE = 20.0, 120.0  # about the place where a landmark is expected [pixels]
_RATIO = 0.9  # best to second best distance of descriptors
_FINE = 0.5  # standard deviation of a feature that the flow has refined [pixels]
_LEAST = 20  # landmarks that a pose needs
_RECENT, _OTHERS = 4, 4  # keyframes whose landmarks are looked for
_PATIENCE = 10  # pairs after which a keyframe follows anyway
_FRESH = 80  # landmarks below which a keyframe follows at once


class Odometry:
    """The pose of the body from one stereo pair after the other."""

    def __init__(self, stereo: calibration.Calibration, features: int = 800, window: int = 6,
                 keep: float = 0.7):
        """Begins at the identity.

        Args:
            stereo: Calibration of the pair.
            features: Of an image.
            window: Keyframes that a bundle adjustment moves.
            keep: A keyframe follows when fewer than this share of its landmarks is seen.
        """
        self._extract = Extractor(stereo, features)
        self._camera = self._extract.camera
        self._body_from_camera = self._extract.body_from_camera
        self._window, self._keep = window, keep
        self._matcher = cv2.BFMatcher(cv2.NORM_HAMMING)
        self._map = Map()
        self._pose = np.linalg.inv(self._body_from_camera)  # (4, 4) camera_from_world
        self._motion = np.eye(4)  # of the pose, from pair to pair
        self._since = 0  # pairs since the last keyframe
        self._best = 0  # landmarks that one of them saw
        self._due = None  # features and matches of a keyframe that is to be made

    def step(self, left: np.ndarray, right: np.ndarray):
        """Takes a pair.

        Args:
            left, right: (H, W) uint8.

        Returns:
            (4, 4) body to world, and the number of landmarks seen; None and their number where
            the pose is lost. The first pair gives the identity.
        """
        found = self._extract(left, right)
        if not self._map.keyframes:
            self._due = found, np.full(len(found.seen), -1)
            return np.eye(4), int(found.deep.sum())
        numbers = self._track(found)
        count = int((numbers >= 0).sum())
        if count < _LEAST:
            # Nothing known is in view: go on from where the vehicle should be by now.
            self._pose = self._motion @ self._pose
            self._due = found, np.full(len(found.seen), -1)
            return None, count
        self._since += 1
        self._best = max(self._best, count)
        if count < max(self._keep * self._best, _FRESH) or self._since >= _PATIENCE:
            self._due = found, numbers
        return _inverse(self._body_from_camera @ self._pose), count

    def map(self) -> None:
        """What can wait until the pose is told: a keyframe and its adjustment, if one is due."""
        if self._due is None:
            return
        self._add_keyframe(*self._due)
        self._due = None
        if len(self._map.keyframes) > 1:
            adjust(self._map, self._camera, self._window)
            self._pose = self._map.keyframes[-1].camera_from_world

    def _track(self, found):
        """Landmarks of the features (N,), -1 where there is none; finds the pose."""
        if len(found.seen) == 0:
            return np.zeros(0, int)
        last = self._pose
        for guess, radius in ((self._motion @ last, _NARROW), (self._motion @ last, _WIDE),
                              (last, np.inf)):
            numbers, pose = self._match(found, guess, radius)
            if (numbers >= 0).sum() >= 2 * _LEAST:
                break
        if (numbers >= 0).sum() >= _LEAST:
            self._pose = pose
            self._sharpen(found, numbers)
            self._motion = self._pose @ _inverse(last)
        return numbers

    def _sharpen(self, found, numbers):
        """Refines the matched features, and with them the pose.

        ORB's corners are whole pixels of a level of the pyramid. The patch of the last keyframe
        that saw a landmark says where it is to fractions of a pixel.
        """
        left = numbers >= 0
        fine = np.zeros(len(numbers), bool)
        for frame in self._map.keyframes[-1:-1 - _RECENT:-1]:
            rows = np.flatnonzero(left & np.isin(numbers, frame.landmarks, assume_unique=False))
            start = frame.seen[np.searchsorted(frame.landmarks, numbers[rows])][:, [0, 2]]
            places, good = follow(frame.image, found.images[0], start,
                                  found.seen[rows][:, [0, 2]])
            found.seen[rows[good, None], [0, 2]] = places[good]
            fine[rows[good]] = True
            left[rows] = False
        rows = np.flatnonzero(fine & found.deep)
        self._extract.look_right(found.images, found.seen, rows,
                                 found.seen[rows][:, [1, 2]])
        found.sigma[fine] = _FINE
        rows = np.flatnonzero(numbers >= 0)
        self._pose, good = refine(self._camera, self._pose, self._map.points[numbers[rows]],
                                  found.seen[rows], found.sigma[rows])
        numbers[rows[~good]] = -1

    def _match(self, found, guess, radius):
        """Landmarks of the features near to where the guess expects them, and the pose."""
        known = self._map.near(guess, _RECENT, _OTHERS)
        local = self._map.points[known] @ guess[:3, :3].T + guess[:3, 3]
        ahead = local[:, 2] > 0.2
        known, local = known[ahead], local[ahead]
        numbers = np.full(len(found.seen), -1)
        if len(known) < _LEAST:
            return numbers, guess
        expected = self._camera.project(local)[:, [0, 2]]
        apart = np.abs(found.seen[:, None, [0, 2]] - expected[None]).max(axis=2)
        pairs = match(self._matcher, found.descriptors, self._map.descriptors[known],
                      apart < radius, _RATIO)
        if len(pairs) < _LEAST:
            return numbers, guess
        points = self._map.points[known[pairs[:, 1]]]
        seen, sigma = found.seen[pairs[:, 0]], found.sigma[pairs[:, 0]]
        pose, good = self._solve(points, seen, sigma, guess)
        numbers[pairs[good, 0]] = known[pairs[good, 1]]
        return numbers, pose

    def _solve(self, points, seen, sigma, guess):
        """PnP with RANSAC, then Gauss-Newton on both images; (4, 4) and the inliers."""
        flat = np.column_stack([(seen[:, 0] - self._camera.cx) / self._camera.focal,
                                (seen[:, 2] - self._camera.cy) / self._camera.focal])
        cv2.setRNGSeed(1)
        fine, turn, shift, inliers = cv2.solvePnPRansac(
            points, flat, np.eye(3), None, flags=cv2.SOLVEPNP_SQPNP, iterationsCount=100,
            reprojectionError=3.0 / self._camera.focal, confidence=0.999)
        none = np.zeros(len(points), bool)
        if not fine or inliers is None or len(inliers) < _LEAST:
            return guess, none
        rough = np.eye(4)
        rough[:3, :3], rough[:3, 3] = cv2.Rodrigues(turn)[0], shift.ravel()
        return refine(self._camera, rough, points, seen, sigma)

    def _add_keyframe(self, found, numbers):
        """Keeps the pair; features that are near and no landmark yet become one."""
        fresh = np.flatnonzero((numbers < 0) & found.deep)
        local = self._camera.points(found.seen[fresh])
        world = (local - self._pose[:3, 3]) @ self._pose[:3, :3]
        numbers = numbers.copy()
        numbers[fresh] = self._map.add_points(world, found.descriptors[fresh])
        rows = np.flatnonzero(numbers >= 0)
        order = rows[np.unique(numbers[rows], return_index=True)[1]]
        self._map.descriptors[numbers[order]] = found.descriptors[order]
        self._map.keyframes.append(Keyframe(self._pose, numbers[order], found.seen[order],
                                            found.sigma[order], found.images[0]))
        if len(self._map.keyframes) > _RECENT:
            self._map.keyframes[-1 - _RECENT].image = None
        self._since = self._best = 0


def _inverse(pose):
    """Of a rigid motion (4, 4)."""
    result = np.eye(4)
    result[:3, :3] = pose[:3, :3].T
    result[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return result


def main() -> int:
    """Runs until the images end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path, help="folder with mav0, for its calibration")
    parser.add_argument("--features", type=int, default=800)
    parser.add_argument("--window", type=int, default=6)
    parser.add_argument("--keep", type=float, default=0.7)
    args = parser.parse_args()
    cv2.setNumThreads(1)
    return baseline.run(args.dataset, lambda stereo: Odometry(stereo, args.features, args.window,
                                                              args.keep), Odometry.map)


if __name__ == "__main__":
    sys.exit(main())
