"""A textured wall before a stereo pair, for the tests of SLAM; needs OpenCV."""

import cv2
import numpy as np

from xtdrone_slam.datasets.calibration import Calibration, Camera, Imu
from xtdrone_slam.datasets.dataset import Dataset, DatasetWriter

SIZE = 320, 240
FOCAL, BASELINE = 200.0, 0.12
PARAMETERS = {
    "width": 64,
    "height": 48,
    "fx": 46.0,
    "fy": 45.0,
    "cx": 31.0,
    "cy": 24.5,
    "k1": -0.2,
    "k2": 0.05,
    "k3": 0.0,
    "p1": 1e-4,
    "p2": 2e-5,
    "skew": 0.0,
    "distortion_center": (31.0, 24.5),
    "quat": (0.0, 0.0, 0.0, 1.0),
}

# Systems under test, by their first lines.
READ = (
    "import sys; from xtdrone_slam.benchmark import link\n"
    "for t, a, b in link.frames(sys.stdin.buffer, (240, 320)):\n "
)
POSE = "print(link.pose_line(t, (0, 0, {}), (0, 0, 0, 1), 9), flush=True)"


def stereo():
    values = {
        **PARAMETERS,
        "width": SIZE[0],
        "height": SIZE[1],
        "fx": FOCAL,
        "fy": FOCAL,
        "cx": 159.5,
        "cy": 119.5,
        "k1": 0.0,
        "k2": 0.0,
        "p1": 0.0,
        "p2": 0.0,
        "distortion_center": (159.5, 119.5),
    }
    cameras = [
        Camera.from_simulation({**values, "pos": (0.1, y, 0.0)}, 12.5, (0, 0, 0))
        for y in (BASELINE / 2, -BASELINE / 2)
    ]
    return Calibration(*cameras, Imu(250.0, 1e-4, 1e-5, 1e-3, 1e-3))


def wall(pos):
    """A textured wall 3 m ahead of the first camera, seen from a body at pos without a turn."""
    rng = np.random.default_rng(2)
    texture = cv2.resize(
        rng.integers(0, 255, (120, 160), dtype=np.uint8), (640, 480), interpolation=cv2.INTER_CUBIC
    )
    images = []
    for y in (BASELINE / 2, -BASELINE / 2):
        scale = FOCAL / (3.0 - pos[0])  # pixels per metre on the wall
        shift = (pos[1] + y) * scale, pos[2] * scale
        zoom = 3.0 / (3.0 - pos[0])
        matrix = np.array(
            [[zoom, 0, 159.5 - 319.5 * zoom + shift[0]], [0, zoom, 119.5 - 239.5 * zoom + shift[1]]]
        )
        images.append(cv2.warpAffine(texture, matrix, SIZE))
    return images


def record_wall(folder):
    """Twelve pairs of the wall, each 2 cm nearer to it."""
    writer = DatasetWriter(folder, stereo())
    for i in range(12):
        pos = np.array([0.02 * i, 0.0, 0.0])
        writer.truth(80_000 * (i + 1), pos, (0, 0, 0, 1), (0.25, 0, 0))
        writer.images(80_000 * (i + 1), *wall(pos))
    writer.close()
    return Dataset(folder)


def record_still_wall(folder):
    """Four pairs of the wall from one place, with readings of the IMU and depth images."""
    writer = DatasetWriter(folder, stereo())
    depths = folder / "mav0" / "depth0" / "data"
    depths.mkdir(parents=True)
    for i in range(4):
        t_us = 80_000 * (i + 1)
        for k in range(20):
            writer.imu(t_us - 76_000 + 4000 * k, (0, 0, 0.1), (0, 0, 9.81))
        writer.truth(t_us, (0, 0, 0), (0, 0, 0, 1), (0, 0, 0))
        writer.images(t_us, *wall(np.zeros(3)))
        cv2.imwrite(str(depths / f"{t_us * 1000}.png"), np.full((240, 320), 1500, np.uint16))
    writer.close()
    return Dataset(folder)
