"""Openings in images, such as gates and windows: the corners of holes, and the pose from them.

A hole is a region that another one encloses in the image, by brightness or by colour; one with
four straight edges may be an upright opening, whose known size then gives its pose.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sensor_models.cameras import CameraParameters
from xtdrone_core import extras

from ..errors import PerceptionError
from ..tracking.sight import Eye

_LEVELS = 7  # thresholds of each channel
_LEAST_SIDE = 7.0  # of a quadrilateral [pixels]
_BORDER = 2  # corners so near to the edge of the image may be cut off [pixels]
_FILL = 0.88  # share of its quadrilateral that a hole fills at least
_STRAIGHT = 0.04  # of the perimeter, how far the contour may be off its corners' polygon
_ASKEW = math.radians(72.0)  # greatest angle from which an opening is looked through
_ROUGH, _MISFIT = 0.06, 0.02  # greatest error of the corners, of the opening's size in the image
_ACROSS = 4.0  # how far from an edge it is looked for [pixels]
_MARGIN = 0.12  # share of an edge beside its corners that does not count
_NESTED = 0.7  # size of a frame's inner edge over that of its outer one, at least
_ALIKE = 1.05  # sizes that are one edge
_FARTHEST = 60.0  # [m]
_STEPS, _STEP = 3, 1e-5  # of Gauss and Newton, and of the differences that are derivatives
_PIXEL = 0.7  # standard deviation of a corner [pixels]
_ATTITUDE = 0.012  # of the camera's attitude [rad]
_PLACE = 0.1  # of its place [m]


class Opening(NamedTuple):
    """An upright opening that an image shows."""

    corners: np.ndarray  # (4, 2) top left, top right, bottom right, bottom left [pixels]
    pos: np.ndarray  # (3,) of its middle, world [m]
    spread: np.ndarray  # (3, 3) covariance of the middle [m^2]
    normal: np.ndarray  # (2,) level, away from the camera, world
    misfit: float  # root mean square error of the corners [pixels]


class OpeningFinder:
    """Finds upright rectangular openings of a known size."""

    def __init__(self, camera: CameraParameters, width: float, height: float) -> None:
        """Looks for one size.

        Args:
            camera: Its distortion is not taken into account.
            width: Of the opening [m].
            height: Of the opening [m].

        Raises:
            PerceptionError: OpenCV is not installed.
        """
        self._cv: Any = extras.require("cv2", "visual servoing", "perception", PerceptionError)
        self._camera = camera
        self._half = 0.5 * width, 0.5 * height
        self._signs = np.array([(-1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)])

    def __call__(self, image: np.ndarray, eye: Eye) -> list[Opening]:
        """What an image (H, W, 3) uint8 shows, seen from where the camera is thought to be."""
        if image.ndim == 2:
            image = np.repeat(image[:, :, None], 3, axis=2)
        lab = self._cv.cvtColor(self._cv.GaussianBlur(image, (3, 3), 0), self._cv.COLOR_RGB2LAB)
        rough = [self._placed(corners, eye, _ROUGH) for corners in self._quadrilaterals(lab)]
        found = []
        for each in _distinct([opening for opening in rough if opening is not None]):
            corners = _refined(self._edges(lab, each.corners))
            opening = None if corners is None else self._placed(corners, eye, _MISFIT)
            if opening is not None:
                found.append(opening)
        return found

    def _quadrilaterals(self, lab: np.ndarray) -> list[np.ndarray]:
        """Corners (4, 2) of the holes with four straight edges, about, with repetitions."""
        cv = self._cv
        found = []
        for channel in cv.split(lab):
            low, high = float(channel.min()), float(channel.max())
            if high - low < 6.0:
                continue
            for level in np.linspace(low, high, _LEVELS + 2)[1:-1]:
                for kind in (cv.THRESH_BINARY, cv.THRESH_BINARY_INV):
                    _, mask = cv.threshold(channel, float(level), 255, kind)
                    found += self._holes(mask)
        return found

    def _holes(self, mask: np.ndarray) -> list[np.ndarray]:
        cv = self._cv
        contours, tree = cv.findContours(mask, cv.RETR_CCOMP, cv.CHAIN_APPROX_NONE)
        if tree is None:
            return []
        return [
            quadrilateral
            for contour, (_, _, _, parent) in zip(contours, tree[0])
            if parent >= 0 and len(contour) > 4 * _LEAST_SIDE
            for quadrilateral in self._quadrilateral(contour)
        ]

    def _quadrilateral(self, contour: np.ndarray) -> list[np.ndarray]:
        """The corners of a contour, if it has four, else none."""
        cv = self._cv
        length = cv.arcLength(contour, True)
        polygon = cv.approxPolyDP(contour, _STRAIGHT * length, True)
        if len(polygon) != 4 or not cv.isContourConvex(polygon):
            return []
        corners = polygon[:, 0].astype(float)
        area = cv.contourArea(contour)
        if area < _FILL * cv.contourArea(polygon) or area < _LEAST_SIDE**2:
            return []
        width, height = self._camera.width, self._camera.height
        inside = (corners >= _BORDER) & (corners < np.array([width, height]) - _BORDER)
        sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
        if not inside.all() or sides.min() < _LEAST_SIDE:
            return []
        return [corners]

    def _edges(self, lab: np.ndarray, corners: np.ndarray) -> list[np.ndarray]:
        """Points (M, 2) on each of the four edges: where the image changes most across it."""
        cv, edges = self._cv, []
        offsets = np.arange(-_ACROSS, _ACROSS + 0.25, 0.5)
        for a, b in zip(corners, np.roll(corners, -1, axis=0)):
            along = b - a
            length = float(np.linalg.norm(along))
            normal = np.array([along[1], -along[0]]) / length  # outwards
            shares = np.linspace(_MARGIN, 1.0 - _MARGIN, max(5, min(40, round(length / 2.0))))
            grid = (a + shares[:, None] * along)[:, None] + offsets[:, None] * normal
            sampled = cv.remap(lab, grid.astype(np.float32), None, cv.INTER_LINEAR)
            change = np.abs(np.diff(sampled.astype(np.float32), axis=1)).sum(axis=2) ** 2
            # Of the two edges of a thin frame the inner one: farther out counts less.
            change *= np.exp(-0.5 * (offsets[:-1] + 0.25) / _ACROSS)
            mean = change.mean(axis=0)
            peak = int(mean.argmax())
            near = slice(max(0, peak - 3), peak + 4)
            weight = change[:, near] + 1e-9
            at = (weight * (offsets[:-1] + 0.25)[near]).sum(axis=1) / weight.sum(axis=1)
            edges.append(a + shares[:, None] * along + at[:, None] * normal)
        return edges

    def _placed(self, corners: np.ndarray, eye: Eye, misfits: float) -> Opening | None:
        """The opening with these corners, if it is upright and of the right shape."""
        corners = _ordered(corners, self._camera, eye)
        state = self._about(corners, eye)
        if state is None:
            return None
        for _ in range(_STEPS):
            error, slopes = self._error(state, corners, eye)
            state = state + np.linalg.lstsq(slopes, -error, rcond=None)[0]
        error, _ = self._error(state, corners, eye)
        misfit = float(np.sqrt((error**2).mean()))
        size = math.sqrt(self._cv.contourArea(corners.astype(np.float32)))
        away = state[:3] - eye.pos
        distance = float(np.linalg.norm(away))
        normal = np.array([math.cos(state[3]), math.sin(state[3])])
        if not misfit < max(0.7, misfits * size) or distance > _FARTHEST:
            return None
        if float(normal @ away[:2]) < math.cos(_ASKEW) * distance:
            return None
        spread = self._spread(away / distance, distance, size)
        return Opening(corners, state[:3], spread, normal, misfit)

    def _about(self, corners: np.ndarray, eye: Eye) -> np.ndarray | None:
        """Middle [m] and yaw of the normal [rad] (4,): how high upright sides look gives places."""
        right = (corners[:, 0] - self._camera.cx) / self._camera.fx
        down = (corners[:, 1] - self._camera.cy) / self._camera.fy
        rays = np.column_stack([np.ones(4), -right, -down]) @ eye.axes.T
        level = np.hypot(rays[:, 0], rays[:, 1])
        if level.min() < 0.2:
            return None
        slopes = rays[:, 2] / level
        sides = []
        for top, bottom in ((0, 3), (1, 2)):
            if slopes[top] - slopes[bottom] < 1e-3:
                return None
            distance = 2.0 * self._half[1] / (slopes[top] - slopes[bottom])
            ways = rays[[top, bottom], :2] / level[[top, bottom], None]
            height = 0.5 * distance * (slopes[top] + slopes[bottom])
            sides.append(eye.pos + [*(distance * ways.mean(axis=0)), height])
        left, right_side = sides
        across = right_side - left
        return np.array([*(0.5 * (left + right_side)), math.atan2(across[0], -across[1])])

    def _error(
        self, state: np.ndarray, corners: np.ndarray, eye: Eye
    ) -> tuple[np.ndarray, np.ndarray]:
        """Error of the corners (8,) [pixels], and its derivatives (8, 4)."""

        def at(x: np.ndarray) -> np.ndarray:
            right = np.array([math.sin(x[3]), -math.cos(x[3]), 0.0])
            points = x[:3] + self._signs @ np.array([self._half[0] * right, [0, 0, self._half[1]]])
            seen = (points - eye.pos) @ eye.axes
            depth = np.maximum(seen[:, 0], 0.05)
            across = self._camera.cx - self._camera.fx * seen[:, 1] / depth - corners[:, 0]
            along = self._camera.cy - self._camera.fy * seen[:, 2] / depth - corners[:, 1]
            both: np.ndarray = np.concatenate([across, along])
            return both

        here = at(state)
        columns = [(at(state + _STEP * unit) - here) / _STEP for unit in np.eye(4)]
        return here, np.column_stack(columns)

    def _spread(self, ray: np.ndarray, distance: float, size: float) -> np.ndarray:
        along = distance * _PIXEL / size
        aside = distance * math.hypot(_PIXEL / self._camera.fx, _ATTITUDE)
        outer = np.outer(ray, ray)
        spread: np.ndarray = (along**2 - aside**2) * outer + (aside**2 + _PLACE**2) * np.eye(3)
        return spread


def _refined(edges: list[np.ndarray]) -> np.ndarray | None:
    """Corners (4, 2) where straight lines through points of the four edges meet; None if not."""
    lines = []
    for points in edges:
        for _ in range(2):
            middle = points.mean(axis=0)
            direction = np.linalg.svd(points - middle, full_matrices=False)[2][0]
            normal = np.array([-direction[1], direction[0]])
            off = np.abs((points - middle) @ normal)
            points = points[off <= max(0.5, 2.0 * float(np.median(off)))]
        lines.append((normal, float(normal @ middle)))
    met = []
    for (a, c), (b, d) in zip((lines[-1], *lines[:-1]), lines):
        matrix = np.array([a, b])
        if abs(float(np.linalg.det(matrix))) < 0.2:
            return None
        met.append(np.linalg.solve(matrix, np.array([c, d])))
    return np.array(met)


def _ordered(corners: np.ndarray, camera: CameraParameters, eye: Eye) -> np.ndarray:
    """Corners from the top left one clockwise, as they lie for one who stands upright."""
    up = eye.axes.T @ (0.0, 0.0, 1.0)  # in the camera's frame
    roll = math.atan2(float(up[1]), float(up[2]))  # of the image, to its left
    cos, sin = math.cos(roll), math.sin(roll)
    away = corners - corners.mean(axis=0)
    x, y = cos * away[:, 0] - sin * away[:, 1], sin * away[:, 0] + cos * away[:, 1]
    around = np.argsort(np.arctan2(y, x))  # from the top left, y is down
    ordered: np.ndarray = corners[around]
    return ordered


def _distinct(found: list[Opening]) -> list[Opening]:
    """One of those with nearly the same middle: of a frame's edges the inner one."""
    groups: list[list[Opening]] = []
    for each in sorted(found, key=_size, reverse=True):
        middle = each.corners.mean(axis=0)
        for group in groups:
            away = np.abs(group[0].corners.mean(axis=0) - middle).max()
            if away < 0.15 * _size(group[0]) and _size(each) > _NESTED * _size(group[0]):
                group.append(each)
                break
        else:
            groups.append([each])
    kept = []
    for group in groups:
        most = 0.7 + 2.0 * min(each.misfit for each in group)
        good = [each for each in group if each.misfit <= most]
        inner = [each for each in good if _size(each) < _ALIKE * _size(good[-1])]
        kept.append(inner[len(inner) // 2])  # of the middle one of the thresholds
    return kept


def _size(opening: Opening) -> float:
    """Mean side of its bounding box [pixels]."""
    return float(np.ptp(opening.corners, axis=0).mean())
