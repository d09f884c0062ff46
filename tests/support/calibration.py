"""Rendered targets whose geometry is known: a checkerboard to calibrate by, a wall to range.

Used by the quick tests and by `make validation`. The targets stand in a scene
of their own, without vehicles, and cameras are put anywhere.
"""

import math
from dataclasses import dataclass

import cv2
import numpy as np

from sensor_models.cameras import CameraParameters, cameras_of
from sensor_models.lens import Lens
from xtdrone_core import SensorBlock
from xtdrone_dynamics.quaternion import from_euler, to_matrix_array
from xtdrone_sim.rendering.scene import RenderedScene
from xtdrone_sim.world import load_world

CORNERS = 11, 8  # of the checkerboard that lie between four squares
SQUARE = 0.1  # [m]
_OPTICAL = np.array([(0.0, -1.0, 0.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)])  # camera to optical

_WORLD = """<sdf version="1.7"><world name="target">
<scene><ambient>1 1 1 1</ambient><background>0.6 0.6 0.6 1</background></scene>
<model name="target"><static>true</static><link name="link">{shapes}</link></model>
</world></sdf>"""
_BOX = """<visual name="{name}"><pose>{x} {y} {z} 0 0 0</pose>
<geometry><box><size>{sx} {sy} {sz}</size></box></geometry>
<material><ambient>{grey} {grey} {grey} 1</ambient><diffuse>{grey} {grey} {grey} 1</diffuse>
</material></visual>"""


def camera(preset: str, **tags) -> CameraParameters:
    """A camera of a preset with some values changed."""
    (found,) = cameras_of(
        SensorBlock(
            "camera",
            "eye",
            (0, 0, 0),
            (0, 0, 0, 1),
            {"preset": preset, **{k: str(v) for k, v in tags.items()}},
        )
    )
    return found


def checkerboard_world(path):
    """A checkerboard in the plane x = 0, seen from -x; writes its SDF and loads it."""
    columns, rows = CORNERS[0] + 1, CORNERS[1] + 1
    boxes = [
        _BOX.format(
            name="paper",
            x=0.004,
            y=0,
            z=0,
            sx=0.008,
            sy=(columns + 2) * SQUARE,
            sz=(rows + 2) * SQUARE,
            grey=1,
        )
    ]
    for i in range(columns):
        for j in range(rows):
            if (i + j) % 2 == 0:
                boxes.append(
                    _BOX.format(
                        name=f"s_{i}_{j}",
                        x=0,
                        y=(0.5 * (columns - 1) - i) * SQUARE,
                        z=(0.5 * (rows - 1) - j) * SQUARE,
                        sx=0.0001,
                        sy=SQUARE,
                        sz=SQUARE,
                        grey=0,
                    )
                )
    path.write_text(_WORLD.format(shapes="".join(boxes)))
    return load_world(str(path))


def wall_world(path, distance: float, seed: int = 1):
    """A wall of random grey tiles in the plane x = distance."""
    rng = np.random.default_rng(seed)
    boxes = []
    for i in range(60):
        for j in range(40):
            side = 0.05 * distance
            boxes.append(
                _BOX.format(
                    name=f"t_{i}_{j}",
                    x=distance + 0.01,
                    y=(i - 29.5) * side,
                    z=(j - 19.5) * side,
                    sx=0.02,
                    sy=side,
                    sz=side,
                    grey=round(float(rng.uniform(0.05, 1.0)), 3),
                )
            )
    path.write_text(_WORLD.format(shapes="".join(boxes)))
    return load_world(str(path))


@dataclass(frozen=True)
class View:
    """One image, and where its camera was."""

    image: np.ndarray
    pos: np.ndarray  # world [m]
    quat: tuple  # xyzw, camera to world

    def to_optical(self, points) -> np.ndarray:
        """World points (M, 3) in the camera's optical frame."""
        return (np.asarray(points) - self.pos) @ to_matrix_array([self.quat])[0] @ _OPTICAL.T


def photograph(world, lens: Lens, places) -> list[View]:
    """Images from places (pos, quat)."""
    shot = lens.camera
    scene = RenderedScene(
        world, (), (), (lens.pinhole.width, lens.pinhole.height), shot.anti_aliasing
    )
    views = []
    for pos, quat in places:
        raw = scene.draw(pos, quat, lens.pinhole, shot.near, shot.far)
        views.append(View(lens.image(raw), np.array(pos), quat))
    scene.close()
    return views


def places_around(count: int, seed: int = 3):
    """Places that look at the checkerboard from all over, which fills every part of the image."""
    rng = np.random.default_rng(seed)
    places = []
    for _ in range(count):
        distance = rng.uniform(0.95, 1.6)
        yaw, pitch = rng.uniform(-0.55, 0.55, 2)
        pos = -distance * np.array(
            [math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), -math.sin(pitch)]
        )
        pos[1:] += rng.uniform(-0.25, 0.25, 2)
        quat = from_euler(
            rng.uniform(-0.3, 0.3), pitch + rng.uniform(-0.12, 0.12), yaw + rng.uniform(-0.2, 0.2)
        )
        places.append((tuple(pos), tuple(quat)))
    return places


def board_points() -> np.ndarray:
    """The checkerboard's corners in the world, (88, 3), in OpenCV's order: rows from above."""
    columns, rows = CORNERS
    return np.array(
        [
            (0.0, (0.5 * (columns - 1) - i) * SQUARE, (0.5 * (rows - 1) - j) * SQUARE)
            for j in range(rows)
            for i in range(columns)
        ]
    )


def find_corners(view: View):
    """The corners' pixels (88, 2), in the order of board_points; None if not all are seen."""
    grey = view.image if view.image.ndim == 2 else cv2.cvtColor(view.image, cv2.COLOR_RGB2GRAY)
    found, corners = cv2.findChessboardCorners(grey, CORNERS, None, cv2.CALIB_CB_ADAPTIVE_THRESH)
    if not found:
        return None
    stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 60, 1e-4)
    corners = cv2.cornerSubPix(grey, corners, (9, 9), (-1, -1), stop)[:, 0, :].astype(float)
    return corners if corners[0] @ (1, 1) < corners[-1] @ (1, 1) else corners[::-1].copy()


def calibrate(views, size):
    """OpenCV's calibration of many views.

    Returns:
        (rms [pixels], K (3, 3), distortion (5,), number of views with a whole board).
    """
    board = np.zeros((CORNERS[0] * CORNERS[1], 3), dtype=np.float32)
    board[:, :2] = np.mgrid[0 : CORNERS[0], 0 : CORNERS[1]].T.reshape(-1, 2) * SQUARE
    corners = [c for c in map(find_corners, views) if c is not None]
    rms, matrix, distortion, _, _ = cv2.calibrateCamera(
        [board] * len(corners), [c.astype(np.float32)[:, None] for c in corners], size, None, None
    )
    return rms, matrix, distortion.ravel(), len(corners)


def straightness(views, shot: CameraParameters) -> float:
    """RMS distance of undistorted corners from a plane's perspective image [pixels].

    Undistorted by OpenCV with the parameters that the camera was given.
    """
    matrix = np.array(shot.camera_matrix)
    flat = board_points()[:, 1:].astype(np.float32)
    squares = []
    for view in views:
        corners = find_corners(view)
        if corners is None:
            continue
        ideal = cv2.undistortPoints(
            corners[:, None], matrix, np.array(shot.distortion), None, None, matrix
        )[:, 0]
        homography, _ = cv2.findHomography(flat, ideal)
        again = cv2.perspectiveTransform(flat[:, None].astype(float), homography)[:, 0]
        squares.append(((again - ideal) ** 2).sum(axis=1))
    return math.sqrt(np.concatenate(squares).mean())


def textbook_pixels(view: View, shot: CameraParameters) -> np.ndarray:
    """Where the corners must be by Brown-Conrady, written out once more without the lens' code."""
    x, y, z = view.to_optical(board_points()).T
    x, y = x / z, y / z
    inverse = np.linalg.inv(np.array(shot.camera_matrix))
    cx, cy, _ = inverse @ (*shot.distortion_center, 1.0)
    x, y = x - cx, y - cy
    k1, k2, p1, p2, k3 = shot.distortion
    r2 = x**2 + y**2
    bend = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
    bent = np.stack(
        [
            x * bend + 2 * p1 * x * y + p2 * (r2 + 2 * x**2) + cx,
            y * bend + p1 * (r2 + 2 * y**2) + 2 * p2 * x * y + cy,
            np.ones_like(x),
        ]
    )
    return (np.array(shot.camera_matrix) @ bent)[:2].T


def projected_error(views, shot: CameraParameters):
    """(RMS, mean (2,)) of found minus projected corners [pixels]."""
    errors = [
        corners - textbook_pixels(view, shot)
        for view in views
        if (corners := find_corners(view)) is not None
    ]
    errors = np.concatenate(errors)
    return math.sqrt((errors**2).sum(axis=1).mean()), errors.mean(axis=0)


@dataclass(frozen=True)
class WallRange:
    """What a stereo pair says of a wall."""

    disparity: float  # exact [pixels]
    shift: float  # of the whole image, by phase correlation [pixels]
    covered: float  # part of the image that the matcher ranged
    median_depth: float  # by semi-global matching [m]
    depth_per_pixel: float  # of disparity, there [m]
    within_half: float  # part of the ranged pixels that are right to half a pixel of disparity


def range_wall(world, distance: float, baseline: float = 0.12) -> WallRange:
    """Ranges the wall of wall_world by OpenCV, from an MT9V034 pair that faces it."""
    shot = camera("mt9v034", anti_aliasing=4)
    level = (0.0, 0.0, 0.0, 1.0)
    left, right = photograph(
        world,
        Lens(shot, 1, 0, 200),
        [((0.0, 0.5 * baseline, 0.0), level), ((0.0, -0.5 * baseline, 0.0), level)],
    )
    matcher = cv2.StereoSGBM_create(
        0, 64, 7, P1=8 * 49, P2=32 * 49, disp12MaxDiff=1, uniquenessRatio=10
    )
    found = matcher.compute(left.image, right.image).astype(float)[60:-60, 100:-60] / 16.0
    good = found[found > 0]
    exact = shot.fx * baseline / distance
    one, two = (view.image[60:-60, 150:-150].astype(np.float32) for view in (left, right))
    window = cv2.createHanningWindow(one.shape[::-1], cv2.CV_32F)
    shift = cv2.phaseCorrelate(two, one, window)[0][0]
    return WallRange(
        exact,
        shift,
        good.size / found.size,
        float(np.median(shot.fx * baseline / good)),
        distance / exact,
        float((np.abs(good - exact) <= 0.5).mean()),
    )
