"""Follows corners through the images of one or two cameras by optical flow (KLT), on OpenCV."""

import cv2
import numpy as np

from xtdrone_slam.datasets.calibration import Calibration, Camera
from xtdrone_slam.datasets.lenses import undistorted

from .msckf import Frame

_FLOW = {
    "winSize": (21, 21),
    "maxLevel": 3,
    "criteria": (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 30, 0.01),
}
_FORWARD_BACKWARD = 0.5  # largest forward-backward error of a track [pixels]
_EPIPOLAR = 1.5  # largest distance from an epipolar line [pixels]
_QUALITY = 0.003  # of a corner, as a share of the best in the image
_SPACING = 22  # least distance between corners [pixels]
_CONTRAST = 3.0  # most that a part of a dark image is brightened by (CLAHE's clip limit)
_ENOUGH = 8  # points from which a fundamental matrix is fitted


class Tracker:
    """Gives each corner a name that it keeps while it is seen.

    Attributes:
        moved: Median way of the corners since the last image [pixels]; inf without any.
    """

    def __init__(
        self, calibration: Calibration, cameras: int = 2, features: int = 160, threads: int = 1
    ) -> None:
        """Begins without an image.

        Args:
            calibration: Of the cameras.
            cameras: 2, or 1 for the left one alone.
            features: Most corners in an image.
            threads: Of OpenCV.
        """
        cv2.setNumThreads(threads)
        self.moved = np.inf
        self._left = calibration.left
        self._right = calibration.right if cameras == 2 else None
        self._right_from_left = calibration.right_from_left
        self._features = features
        self._equalise = cv2.createCLAHE(_CONTRAST, (8, 8))
        self._last: np.ndarray | None = None
        self._pixels = np.zeros((0, 1, 2), np.float32)
        self._names = np.zeros(0, dtype=np.int64)
        self._next = 0

    def step(self, left: np.ndarray, right: np.ndarray, turn: np.ndarray) -> Frame:
        """Follows the corners into the images of the next time, and looks for new ones.

        Args:
            left, right: (H, W) uint8; the right one is not used with one camera.
            turn: (3, 3) from the last optical frame of the left camera to this one, as known.
        """
        left = self._equalise.apply(left)
        if self._last is not None:
            self._follow(self._last, left, turn)
        self._detect(left)
        self._last = left
        flat = (
            undistorted(self._left, self._pixels)[:, 0] if len(self._pixels) else np.zeros((0, 2))
        )
        seen = flat[:, None].astype(float)
        if self._right is not None:
            right = self._equalise.apply(right)
            seen = np.concatenate([seen, self._matched(left, right, flat)[:, None]], axis=1)
        return Frame(self._names.copy(), seen)

    def forget(self, names: set[int]) -> None:
        """Stops following corners, which contradict the motion."""
        self._keep(~np.isin(self._names, list(names)))

    def _follow(self, last: np.ndarray, image: np.ndarray, turn: np.ndarray) -> None:
        self.moved = np.inf
        if not len(self._pixels):
            return
        before = undistorted(self._left, self._pixels)
        guess = _projected(self._left, before[:, 0], turn)
        tracks, good = _flow(last, image, self._pixels, guess)
        if good.any():
            self.moved = float(np.median(np.linalg.norm(tracks - self._pixels, axis=2)[good]))
        if good.sum() >= _ENOUGH:
            focal = self._left.intrinsics[0]
            after = undistorted(self._left, tracks)
            good[good] &= _consistent(before[good] * focal, after[good] * focal)
        self._pixels = tracks
        self._keep(good)

    def _keep(self, good: np.ndarray) -> None:
        self._pixels, self._names = self._pixels[good], self._names[good]

    def _detect(self, image: np.ndarray) -> None:
        wanted = self._features - len(self._pixels)
        if wanted <= 0:
            return
        mask = np.full(image.shape, 255, np.uint8)
        for x, y in self._pixels[:, 0]:
            cv2.circle(mask, (round(float(x)), round(float(y))), _SPACING, 0, -1)
        corners = cv2.goodFeaturesToTrack(image, wanted, _QUALITY, _SPACING, mask=mask)
        if corners is None:
            return
        names = np.arange(self._next, self._next + len(corners))
        self._next += len(corners)
        self._pixels = np.concatenate([self._pixels, corners])
        self._names = np.concatenate([self._names, names])

    def _matched(self, left: np.ndarray, right: np.ndarray, flat: np.ndarray) -> np.ndarray:
        """Returns where the right camera sees the corners (M, 2), at unit distance; or NaN."""
        assert self._right is not None
        found = np.full((len(flat), 2), np.nan)
        if not len(flat):
            return found
        pose = self._right_from_left
        guess = _projected(self._right, flat, pose[:3, :3])
        tracks, good = _flow(left, right, self._pixels, guess)
        seen = undistorted(self._right, tracks)[:, 0].astype(float)
        x, y, z = pose[:3, 3]
        essential = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) @ pose[:3, :3]
        lines = np.column_stack([flat, np.ones(len(flat))]) @ essential.T
        distance = np.abs(np.sum(lines[:, :2] * seen, axis=1) + lines[:, 2])
        distance /= np.maximum(np.linalg.norm(lines[:, :2], axis=1), 1e-12)
        good &= self._right.intrinsics[0] * distance < _EPIPOLAR
        found[good] = seen[good]
        return found


def _projected(camera: Camera, flat: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Returns pixels (M, 1, 2) float32 of directions (M, 2) at unit distance, after a turn."""
    rays = np.column_stack([flat, np.ones(len(flat))]) @ turn.T
    rays /= np.maximum(rays[:, 2:], 0.1)
    project = cv2.fisheye.projectPoints if camera.distortion_model == "equidistant" else None
    if project is None:
        pixels, _ = cv2.projectPoints(
            rays, np.zeros(3), np.zeros(3), camera.matrix, np.array(camera.distortion)
        )
    else:
        pixels, _ = project(
            rays[:, None], np.zeros(3), np.zeros(3), camera.matrix, np.array(camera.distortion)
        )
    size = np.array([camera.width, camera.height], dtype=float)
    return np.clip(pixels.reshape(-1, 1, 2), -0.5 * size, 1.5 * size).astype(np.float32)


def _flow(
    first: np.ndarray, second: np.ndarray, pixels: np.ndarray, guess: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Tracks (M, 1, 2) from one image to another, and which pass the forward-backward check."""
    initial = {"flags": cv2.OPTFLOW_USE_INITIAL_FLOW}
    tracks, forward, _ = cv2.calcOpticalFlowPyrLK(
        first, second, pixels, guess.copy(), **_FLOW, **initial
    )
    again, backward, _ = cv2.calcOpticalFlowPyrLK(
        second, first, tracks, pixels.copy(), **_FLOW, **initial
    )
    error = np.linalg.norm(again - pixels, axis=2).ravel()
    height, width = second.shape
    x, y = tracks[:, 0].T
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    tracked = (forward.ravel() == 1) & (backward.ravel() == 1)
    return tracks, tracked & (error < _FORWARD_BACKWARD) & inside


def _consistent(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Returns which of (M, 1, 2) move as points of a rigid world do."""
    _, inliers = cv2.findFundamentalMat(before, after, cv2.FM_RANSAC, _EPIPOLAR, 0.999)
    return np.ones(len(before), dtype=bool) if inliers is None else inliers.ravel() == 1
