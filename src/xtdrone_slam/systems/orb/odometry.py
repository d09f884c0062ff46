"""Stereo SLAM: ORB features are matched to a map of landmarks, the pose is estimated by PnP and
robust Gauss-Newton, and each keyframe triggers a local bundle adjustment.

Runs as a process of its own: stereo pairs on standard input, poses on standard output, in the
protocol of xtdrone_slam.benchmark.link. No loop closure, no IMU.
"""

import sys

import cv2
import numpy as np

from xtdrone_slam.datasets import calibration
from xtdrone_slam.systems import baseline

from .adjustment import adjust
from .features import Extractor, Features, follow, match
from .landmarks import Keyframe, Map
from .pose import refine

_NARROW, _WIDE = 20.0, 120.0  # search radii around the projection of a landmark [pixels]
_RATIO = 0.9  # Lowe's ratio test of descriptor distances
_REFINED_SIGMA = 0.5  # standard deviation of a feature refined by optical flow [pixels]
_MIN_LANDMARKS = 20  # needed for a pose
_RECENT, _OTHERS = 4, 4  # latest, and nearest older keyframes whose landmarks are searched
_MAX_INTERVAL = 10  # pairs between two keyframes
_KEYFRAME_BELOW = 80  # tracked landmarks; a keyframe is made below this number in any case


class Odometry:
    """Stereo SLAM by ORB features; call step() for each pair, then map()."""

    def __init__(
        self,
        stereo: calibration.Calibration,
        features: int = 800,
        window: int = 6,
        keep: float = 0.7,
    ) -> None:
        """Starts at the identity.

        Args:
            stereo: Calibration of the pair.
            features: Features per image.
            window: Keyframes that the bundle adjustment optimises.
            keep: A new keyframe is made when less than this fraction of the landmarks is tracked.
        """
        cv2.setNumThreads(1)
        self._extract = Extractor(stereo, features)
        self._camera = self._extract.camera
        self._body_from_camera = self._extract.body_from_camera
        self._window, self._keep = window, keep
        self._matcher = cv2.BFMatcher(cv2.NORM_HAMMING)
        self._map = Map()
        self._pose = np.linalg.inv(self._body_from_camera)  # (4, 4) camera_from_world
        self._motion = np.eye(4)  # motion from the last pair to this one, for prediction
        self._since = 0  # pairs since the last keyframe
        self._best = 0  # most landmarks tracked since then
        # Features and landmark numbers of a keyframe to be made.
        self._pending: tuple[Features, np.ndarray] | None = None

    @property
    def keyframes(self) -> list[Keyframe]:
        """The keyframes of the map, in the order of time."""
        return self._map.keyframes

    def step(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray | None, int]:
        """Processes a pair.

        Args:
            left, right: (H, W) uint8.

        Returns:
            (4, 4) body to world, or None if tracking is lost; and the number of landmarks tracked.
            The first pair gives the identity.
        """
        features = self._extract(left, right)
        if not self._map.keyframes:
            self._pending = features, np.full(len(features.seen), -1)
            return np.eye(4), int(features.has_depth.sum())
        numbers = self._track(features)
        count = int((numbers >= 0).sum())
        if count < _MIN_LANDMARKS:
            # Tracking is lost: start a new part of the map at the predicted pose.
            self._pose = self._motion @ self._pose
            self._pending = features, np.full(len(features.seen), -1)
            return None, count
        self._since += 1
        self._best = max(self._best, count)
        if count < max(self._keep * self._best, _KEYFRAME_BELOW) or self._since >= _MAX_INTERVAL:
            self._pending = features, numbers
        return _inverse(self._body_from_camera @ self._pose), count

    def map(self) -> None:
        """Makes a pending keyframe and adjusts the map; called after the pose has been answered."""
        if self._pending is None:
            return
        self._add_keyframe(*self._pending)
        self._pending = None
        if len(self._map.keyframes) > 1:
            adjust(self._map, self._camera, self._window)
            self._pose = self._map.keyframes[-1].camera_from_world

    def _track(self, features: Features) -> np.ndarray:
        """Estimates the pose; returns the landmark number of each feature (N,), -1 for none."""
        if len(features.seen) == 0:
            return np.zeros(0, int)
        last = self._pose
        for guess, radius in (
            (self._motion @ last, _NARROW),
            (self._motion @ last, _WIDE),
            (last, np.inf),
        ):
            numbers, pose = self._match(features, guess, radius)
            if (numbers >= 0).sum() >= 2 * _MIN_LANDMARKS:
                break
        if (numbers >= 0).sum() >= _MIN_LANDMARKS:
            self._pose = pose
            self._refine(features, numbers)
            self._motion = self._pose @ _inverse(last)
        return numbers

    def _refine(self, features: Features, numbers: np.ndarray) -> None:
        """Refines the matched features to sub-pixel accuracy, and then the pose.

        ORB corners have integer coordinates at their pyramid level. Optical flow from the latest
        keyframe that saw the landmark locates it to a fraction of a pixel.
        """
        left = numbers >= 0
        refined = np.zeros(len(numbers), bool)
        for frame in self._map.keyframes[-1 : -1 - _RECENT : -1]:
            rows = np.flatnonzero(left & np.isin(numbers, frame.landmarks, assume_unique=False))
            assert frame.image is not None  # recent keyframes have one
            start = frame.seen[np.searchsorted(frame.landmarks, numbers[rows])][:, [0, 2]]
            pixels, good = follow(
                frame.image, features.images[0], start, features.seen[rows][:, [0, 2]]
            )
            features.seen[rows[good, None], [0, 2]] = pixels[good]
            refined[rows[good]] = True
            left[rows] = False
        rows = np.flatnonzero(refined & features.has_depth)
        self._extract.match_by_flow(
            features.images, features.seen, rows, features.seen[rows][:, [1, 2]]
        )
        features.sigma[refined] = _REFINED_SIGMA
        rows = np.flatnonzero(numbers >= 0)
        self._pose, good = refine(
            self._camera,
            self._pose,
            self._map.points[numbers[rows]],
            features.seen[rows],
            features.sigma[rows],
        )
        numbers[rows[~good]] = -1

    def _match(
        self, features: Features, guess: np.ndarray, radius: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns landmark numbers of features near their projections, and the pose."""
        known = self._map.near(guess, _RECENT, _OTHERS)
        local = self._map.points[known] @ guess[:3, :3].T + guess[:3, 3]
        ahead = local[:, 2] > 0.2
        known, local = known[ahead], local[ahead]
        numbers = np.full(len(features.seen), -1)
        if len(known) < _MIN_LANDMARKS:
            return numbers, guess
        expected = self._camera.project(local)[:, [0, 2]]
        distance = np.abs(features.seen[:, None, [0, 2]] - expected[None]).max(axis=2)
        pairs = match(
            self._matcher,
            features.descriptors,
            self._map.descriptors[known],
            distance < radius,
            _RATIO,
        )
        if len(pairs) < _MIN_LANDMARKS:
            return numbers, guess
        points = self._map.points[known[pairs[:, 1]]]
        seen, sigma = features.seen[pairs[:, 0]], features.sigma[pairs[:, 0]]
        pose, good = self._solve(points, seen, sigma, guess)
        numbers[pairs[good, 0]] = known[pairs[good, 1]]
        return numbers, pose

    def _solve(
        self, points: np.ndarray, seen: np.ndarray, sigma: np.ndarray, guess: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solves PnP with RANSAC, then Gauss-Newton on both images; (4, 4) pose and the inliers."""
        flat = np.column_stack(
            [
                (seen[:, 0] - self._camera.cx) / self._camera.focal,
                (seen[:, 2] - self._camera.cy) / self._camera.focal,
            ]
        )
        cv2.setRNGSeed(1)
        ok, rotation, translation, inliers = cv2.solvePnPRansac(
            points,
            flat,
            np.eye(3),
            None,
            flags=cv2.SOLVEPNP_SQPNP,
            iterationsCount=100,
            reprojectionError=3.0 / self._camera.focal,
            confidence=0.999,
        )
        none = np.zeros(len(points), bool)
        if not ok or inliers is None or len(inliers) < _MIN_LANDMARKS:
            return guess, none
        initial = np.eye(4)
        initial[:3, :3], initial[:3, 3] = cv2.Rodrigues(rotation)[0], translation.ravel()
        return refine(self._camera, initial, points, seen, sigma)

    def _add_keyframe(self, features: Features, numbers: np.ndarray) -> None:
        """Adds a keyframe; unmatched features that have a depth become landmarks."""
        new = np.flatnonzero((numbers < 0) & features.has_depth)
        local = self._camera.points(features.seen[new])
        world = (local - self._pose[:3, 3]) @ self._pose[:3, :3]
        numbers = numbers.copy()
        numbers[new] = self._map.add_points(world, features.descriptors[new])
        rows = np.flatnonzero(numbers >= 0)
        order = rows[np.unique(numbers[rows], return_index=True)[1]]
        self._map.descriptors[numbers[order]] = features.descriptors[order]
        self._map.keyframes.append(
            Keyframe(
                self._pose,
                numbers[order],
                features.seen[order],
                features.sigma[order],
                features.images[0],
            )
        )
        if len(self._map.keyframes) > _RECENT:
            self._map.keyframes[-1 - _RECENT].image = None
        self._since = self._best = 0


def _inverse(pose: np.ndarray) -> np.ndarray:
    """Returns the inverse of a rigid transform (4, 4)."""
    result = np.eye(4)
    result[:3, :3] = pose[:3, :3].T
    result[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return result


if __name__ == "__main__":
    sys.exit(
        baseline.main(
            __doc__, Odometry, {"features": 800, "window": 6, "keep": 0.7}, afterwards=Odometry.map
        )
    )
