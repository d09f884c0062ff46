"""ORB features of a rectified stereo pair, matched between the left and the right image."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from xtdrone_slam.datasets.calibration import Calibration
from xtdrone_slam.datasets.lenses import rectification, rectifying_maps

_CELL = 32  # size of the grid cells over which features are distributed [pixels]
_ROW = 2.0  # largest row difference of a stereo match at the finest level [pixels]
_MIN_DEPTH = 0.3  # stereo match [m]
_MAX_DEPTH = 250.0  # stereo match [baselines]
_HAMMING = 64  # largest distance between descriptors of one point [bits]
_RATIO = 0.8  # Lowe's ratio test along a row, where repetitive texture is ambiguous
_FLOW_RADIUS = 4.0  # largest distance between an ORB feature and its optical flow result [pixels]
_SCALE = 1.2  # ratio between two pyramid levels
_FLOW = {
    "winSize": (15, 15),
    "maxLevel": 1,
    "criteria": (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 20, 0.01),
}


@dataclass(frozen=True)
class Pinhole:
    """A rectified pair: two parallel cameras with the same intrinsics."""

    focal: float  # [pixels]
    cx: float  # [pixels]
    cy: float  # [pixels]
    baseline: float  # [m]

    def points(self, seen: np.ndarray) -> np.ndarray:
        """Returns points (N, 3), left optical frame [m], of observations (N, 3) u, u right, v."""
        depth = self.focal * self.baseline / (seen[:, 0] - seen[:, 1])
        return np.column_stack(
            [
                (seen[:, 0] - self.cx) * depth / self.focal,
                (seen[:, 2] - self.cy) * depth / self.focal,
                depth,
            ]
        )

    def project(self, points: np.ndarray) -> np.ndarray:
        """Returns observations (N, 3) u, u right, v of points (N, 3) in front of the camera."""
        scale = self.focal / points[:, 2]
        u = points[:, 0] * scale + self.cx
        return np.column_stack([u, u - self.baseline * scale, points[:, 1] * scale + self.cy])


@dataclass(frozen=True)
class Features:
    """The features of one pair."""

    seen: np.ndarray  # (N, 3) u, u right (NaN without a match), v [pixels]
    sigma: np.ndarray  # (N,) standard deviation of a coordinate, by the pyramid level [pixels]
    descriptors: np.ndarray  # (N, 32) uint8
    images: tuple[np.ndarray, np.ndarray]  # left and right, rectified, (H, W) uint8

    @property
    def has_depth(self) -> np.ndarray:
        """Tells (N,) which features have a match in the right image."""
        return ~np.isnan(self.seen[:, 1])


class Extractor:
    """Rectifies pairs and extracts their features."""

    def __init__(self, stereo: Calibration, features: int) -> None:
        """Prepares the rectification.

        Args:
            stereo: Calibration of the pair.
            features: Number of features per image.
        """
        left, right = stereo.left, stereo.right
        pose = stereo.right_from_left
        rectified = rectification(stereo)
        new = rectified[2][:, :3]
        self.camera = Pinhole(new[0, 0], new[0, 2], new[1, 2], float(np.linalg.norm(pose[:3, 3])))
        self.body_from_camera = left.pose.copy()
        self.body_from_camera[:3, :3] = left.pose[:3, :3] @ rectified[0].T
        self._maps = [
            rectifying_maps(camera, rotation, new, cv2.CV_16SC2)
            for camera, rotation in zip((left, right), rectified)
        ]
        self._orb = cv2.ORB_create(4 * features, _SCALE, 8, fastThreshold=7)
        self._cells = -(-left.width // _CELL), -(-left.height // _CELL)
        self._each = max(1, round(2.0 * features / (self._cells[0] * self._cells[1])))
        self._count = features
        self._matcher = cv2.BFMatcher(cv2.NORM_HAMMING)

    def __call__(self, left: np.ndarray, right: np.ndarray) -> Features:
        """Extracts the features of a pair, (H, W) uint8 each."""
        first, second = (
            cv2.remap(image, *maps, cv2.INTER_LINEAR)
            for image, maps in zip((left, right), self._maps)
        )
        images = first, second
        (points, levels, descriptors), other = (self._find(image) for image in images)
        seen = np.column_stack([points[:, 0], np.full(len(points), np.nan), points[:, 1]])
        if len(points) and len(other[0]):
            self._match_right(images, seen, levels, descriptors, other)
        return Features(seen, _SCALE**levels, descriptors, images)

    def _find(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns pixels (N, 2), levels (N,), descriptors (N, 32), distributed over the image."""
        corners = sorted(self._orb.detect(image, None), key=lambda corner: -corner.response)
        free = np.full(self._cells[0] * self._cells[1], self._each)
        kept: Any = []  # keypoints of OpenCV
        for corner in corners:
            cell = int(corner.pt[1] // _CELL) * self._cells[0] + int(corner.pt[0] // _CELL)
            if free[cell] and len(kept) < self._count:
                free[cell] -= 1
                kept.append(corner)
        kept, descriptors = self._orb.compute(image, kept)
        if descriptors is None:
            return np.zeros((0, 2)), np.zeros(0), np.zeros((0, 32), np.uint8)
        return (
            np.array([corner.pt for corner in kept]),
            np.array([corner.octave for corner in kept], float),
            descriptors,
        )

    def _match_right(
        self,
        images: tuple[np.ndarray, np.ndarray],
        seen: np.ndarray,
        levels: np.ndarray,
        descriptors: np.ndarray,
        other: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> None:
        """Fills in the u right coordinates of the features that match in the right image."""
        points, right_levels, right_descriptors = other
        disparity = seen[:, None, 0] - points[None, :, 0]
        largest = self.camera.focal * self.camera.baseline / _MIN_DEPTH
        allowed = (
            (np.abs(seen[:, None, 2] - points[None, :, 1]) < _ROW * _SCALE ** levels[:, None])
            & (disparity > -1.0)
            & (disparity < largest)
            & (np.abs(levels[:, None] - right_levels[None]) <= 1.0)
        )
        pairs = match(self._matcher, descriptors, right_descriptors, allowed, _RATIO)
        if len(pairs) == 0:
            return
        self.match_by_flow(images, seen, pairs[:, 0], points[pairs[:, 1]])

    def match_by_flow(
        self,
        images: tuple[np.ndarray, np.ndarray],
        seen: np.ndarray,
        rows: np.ndarray,
        guess: np.ndarray,
    ) -> None:
        """Refines the u right coordinates of some features by optical flow; NaN if rejected."""
        largest = self.camera.focal * self.camera.baseline / _MIN_DEPTH
        start = seen[rows][:, [0, 2]]
        refined, good = follow(*images, start, guess)
        disparity = start[:, 0] - refined[:, 0]
        good &= (
            (np.abs(refined[:, 1] - start[:, 1]) < 1.0)
            & (disparity > self.camera.focal / _MAX_DEPTH)
            & (disparity < largest)
        )
        seen[rows, 1] = np.where(good, refined[:, 0], np.nan)


def follow(
    one: np.ndarray, two: np.ndarray, start: np.ndarray, guess: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Locates patches of one image in another by optical flow, to a fraction of a pixel.

    Args:
        one, two: (H, W) uint8.
        start: (N, 2) in the first image [pixels].
        guess: (N, 2) initial values in the second image [pixels].

    Returns:
        Points (N, 2) in the second image [pixels], and which (N,) are valid and near the guess.
    """
    if len(start) == 0:
        return guess, np.zeros(0, bool)
    tracks, status, _ = cv2.calcOpticalFlowPyrLK(
        one,
        two,
        np.array(start, np.float32, order="C").reshape(-1, 1, 2),
        np.array(guess, np.float32, order="C").reshape(-1, 1, 2),
        flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
        **_FLOW,
    )
    refined = tracks[:, 0].astype(float)
    near = np.linalg.norm(refined - guess, axis=1) < _FLOW_RADIUS
    return refined, (status.ravel() == 1) & near


def match(
    matcher: cv2.BFMatcher, one: np.ndarray, two: np.ndarray, allowed: np.ndarray, ratio: float
) -> np.ndarray:
    """Returns mutual best matches (M, 2) of descriptors (N, 32), (K, 32) among allowed (N, K)."""
    nearest = matcher.knnMatch(one, two, 2, mask=allowed.astype(np.uint8))
    best: dict[int, Any] = {}  # matches of OpenCV
    for candidates in nearest:
        if not candidates or candidates[0].distance > _HAMMING:
            continue
        if len(candidates) == 2 and candidates[0].distance > ratio * candidates[1].distance:
            continue
        first = candidates[0]
        if first.trainIdx not in best or first.distance < best[first.trainIdx].distance:
            best[first.trainIdx] = first
    return np.array([(hit.queryIdx, hit.trainIdx) for hit in best.values()]).reshape(-1, 2)
