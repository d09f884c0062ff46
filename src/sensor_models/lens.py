"""Camera model, applied to a pinhole image: intrinsics, distortion, format and noise.

Lens distortion is Brown-Conrady's, as OpenCV has it, about the distortion centre c
in normalised coordinates: with (x, y) = (X/Z, Y/Z) - c and r2 = x^2 + y^2,

    x_d = x (1 + k1 r2 + k2 r2^2 + k3 r2^3) + 2 p1 x y + p2 (r2 + 2 x^2)
    y_d = y (1 + k1 r2 + k2 r2^2 + k3 r2^3) + p1 (r2 + 2 y^2) + 2 p2 x y

and the pixel is K ((x_d, y_d) + c); an equidistant lens is that of fisheye.py. A pinhole image that
covers every pixel is rendered, and each pixel is sampled from it.
"""

import dataclasses
import logging
import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from xtdrone_dynamics.compiled import njit

from . import fisheye
from .cameras import CameraParameters
from .errors import SensorError
from .streams import new_stream

_log = logging.getLogger(__name__)

_LARGEST = 4096  # side of a pinhole image [pixels]
_LEVELS = 1 << 16  # entries of the table that noise is drawn from
_NEWTON_STEPS = 30


@dataclass(frozen=True)
class Pinhole:
    """A pinhole image with square pixels; coordinates at unit distance, x right and y down."""

    left: float
    right: float
    top: float
    bottom: float
    width: int  # [pixels]
    height: int  # [pixels]


class Lens:
    """One camera: from a pinhole image to the delivered image.

    Attributes:
        pinhole: The image to render.
        x, y: (H, W) coordinates of each pixel in it, as OpenGL counts rows [pixels].
    """

    def __init__(self, camera: CameraParameters, seed: int, vehicle: int, sensor: int) -> None:
        """Computes each pixel's coordinates in the pinhole image.

        Args:
            camera: Its parameters.
            seed, vehicle, sensor: Name the stream of its noise.

        A distortion that folds the image over itself is left out, with a warning.

        Raises:
            SensorError: Its field of view is too wide.
        """
        self.camera = camera = _unfolded(camera)
        x, y = normalised_coordinates(camera)
        self.pinhole = _pinhole(camera, x, y)
        scale = self.pinhole.width / (self.pinhole.right - self.pinhole.left)
        self.x = ((x - self.pinhole.left) * scale - 0.5).astype(np.float32)
        # OpenGL's images begin at the bottom.
        self.y = ((self.pinhole.bottom - y) * scale - 0.5).astype(np.float32)
        self._outside = np.isnan(x)  # True beyond a fisheye's image circle
        self._is_cut = bool(self._outside.any())
        if self._is_cut:
            self.x[self._outside] = self.y[self._outside] = 0.0
        self.stream = new_stream(seed, vehicle, sensor)

    def image(self, raw: np.ndarray) -> np.ndarray:
        """The camera's image.

        Args:
            raw: (h, w, 3) uint8 pinhole image, first row at the bottom.

        Returns:
            (H, W) uint8 for mono8, (H, W, 3) uint8 for rgb8.
        """
        camera = self.camera
        out = np.empty(
            (camera.height, camera.width, 1 if camera.format == "mono8" else 3), dtype=np.uint8
        )
        _develop(
            raw,
            self.x,
            self.y,
            np.float32(255.0 * camera.noise_mean),
            np.float32(255.0 * camera.noise_stddev),
            normal_table(),
            self.stream,
            out,
        )
        if self._is_cut:
            out[self._outside] = 0
        return out[:, :, 0] if camera.format == "mono8" else out

    def depth(self, raw: np.ndarray) -> np.ndarray:
        """The camera's depth image.

        Args:
            raw: (h, w) float32 distances along the optical axis [m], first row at the bottom;
                inf where there is nothing.

        Returns:
            (H, W) float32 [m]; inf where nothing is within near and far.
        """
        camera = self.camera
        out = np.empty((camera.height, camera.width), dtype=np.float32)
        _measure(
            raw,
            self.x,
            self.y,
            camera.noise_mean,
            camera.noise_stddev,
            camera.near,
            camera.far,
            normal_table(),
            self.stream,
            out,
        )
        if self._is_cut:
            out[self._outside] = np.inf
        return out


def pinhole_of(camera: CameraParameters) -> Pinhole:
    """The image to render for a camera; errors as for Lens."""
    camera = _unfolded(camera)
    return _pinhole(camera, *normalised_coordinates(camera))


def project(camera: CameraParameters, points: np.ndarray) -> np.ndarray:
    """Projects points to pixels.

    Args:
        camera: Its parameters.
        points: (M, 3) in its optical frame: x right, y down, z forward [m].

    Returns:
        (M, 2) pixels.
    """
    points = np.asarray(points, dtype=float)
    if camera.is_fisheye:
        bent = np.column_stack(fisheye.project(points, camera.fisheye_distortion))
    else:
        flat = points[:, :2] / points[:, 2:]
        cx, cy = _centre(camera)
        bent = np.array([_distort(x - cx, y - cy, *camera.distortion) for x, y in flat]) + (cx, cy)
    return np.column_stack(
        [
            camera.fx * bent[:, 0] + camera.skew * bent[:, 1] + camera.cx,
            camera.fy * bent[:, 1] + camera.cy,
        ]
    )


def _centre(camera: CameraParameters) -> tuple[float, float]:
    """The distortion centre in normalised coordinates."""
    y = (camera.distortion_center[1] - camera.cy) / camera.fy
    x = (camera.distortion_center[0] - camera.cx - camera.skew * y) / camera.fx
    return x, y


@lru_cache(maxsize=64)
def _unfolded(camera: CameraParameters) -> CameraParameters:
    """The camera, or the same without distortion where that folds the image over itself."""
    try:
        normalised_coordinates(camera)
    except SensorError as error:
        _log.warning("warning: %s, so it is left out", error)
        return dataclasses.replace(camera, k1=0.0, k2=0.0, k3=0.0, p1=0.0, p2=0.0)
    return camera


@lru_cache(maxsize=4)
def normalised_coordinates(camera: CameraParameters) -> tuple[np.ndarray, np.ndarray]:
    """Each pixel's coordinates at unit distance, x right and y down, (H, W) each.

    They are NaN outside the image circle of a fisheye.

    Raises:
        SensorError: The distortion folds the image over itself.
    """
    if camera.is_fisheye:
        v, u = np.mgrid[: camera.height, : camera.width].astype(float)
        down = (v - camera.cy) / camera.fy
        right = (u - camera.cx - camera.skew * down) / camera.fx
        return fisheye.straighten(right, down, camera.fisheye_distortion)
    x, y = np.empty((camera.height, camera.width)), np.empty((camera.height, camera.width))
    if not _rays(
        camera.fx,
        camera.fy,
        camera.cx,
        camera.cy,
        camera.skew,
        *_centre(camera),
        *camera.distortion,
        x,
        y,
    ):
        raise SensorError(
            f"distortion {camera.distortion} folds the image of camera '{camera.name}' over itself"
        )
    return x, y


def _pinhole(camera: CameraParameters, x: np.ndarray, y: np.ndarray) -> Pinhole:
    """The smallest pinhole image around all rays, as fine as the camera's own."""
    if not np.isfinite(x).any():
        raise SensorError(f"camera '{camera.name}' sees nothing: give other intrinsics")
    across, down = np.nanmax(x) - np.nanmin(x), np.nanmax(y) - np.nanmin(y)
    scale = max(camera.fx, camera.fy)
    if camera.is_fisheye:  # coarser where it sees too far aside
        scale = min(scale, (_LARGEST - 2.0) / max(across, down))
    edge = 0.5 / scale
    left, top = np.nanmin(x) - edge, np.nanmin(y) - edge
    width = across * scale + 1.0
    height = down * scale + 1.0
    # Rounded up, but not by what a whole number lacks to be exact.
    columns, rows = math.ceil(width - 1e-6), math.ceil(height - 1e-6)
    if max(columns, rows) > _LARGEST:
        raise SensorError(
            f"a pinhole image of {columns} x {rows} pixels would be needed for camera"
            f" '{camera.name}': give a narrower view or less distortion"
        )
    return Pinhole(left, left + columns / scale, top, top + rows / scale, columns, rows)


@lru_cache
def normal_table() -> np.ndarray:
    """Quantiles of the standard normal distribution, that noise is drawn from.

    (65536,) float32, of unit variance.
    """
    normal = NormalDist()
    table = np.array([normal.inv_cdf((i + 0.5) / _LEVELS) for i in range(_LEVELS)])
    return (table / table.std()).astype(np.float32)


@njit
def _distort(
    x: float, y: float, k1: float, k2: float, p1: float, p2: float, k3: float
) -> tuple[float, float]:
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    return (
        x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
        y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
    )


@njit
def _straighten(
    xd: float, yd: float, k1: float, k2: float, p1: float, p2: float, k3: float
) -> tuple[float, float]:
    """The undistorted coordinates of (xd, yd), by Newton's method; nan where there are none."""
    x, y = xd, yd
    for _ in range(_NEWTON_STEPS):
        bx, by = _distort(x, y, k1, k2, p1, p2, k3)
        ex, ey = bx - xd, by - yd
        r2 = x * x + y * y
        radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
        slope = 2.0 * (k1 + r2 * (2.0 * k2 + r2 * 3.0 * k3))
        xx = radial + x * x * slope + 2.0 * p1 * y + 6.0 * p2 * x
        xy = x * y * slope + 2.0 * p1 * x + 2.0 * p2 * y
        yy = radial + y * y * slope + 6.0 * p1 * y + 2.0 * p2 * x
        det = xx * yy - xy * xy
        if not (det > 0.0 and xx > 0.0):  # past the fold
            return np.nan, np.nan
        if abs(ex) + abs(ey) < 1e-12:
            return x, y
        x -= (yy * ex - xy * ey) / det
        y -= (xx * ey - xy * ex) / det
    return np.nan, np.nan


@njit
def _rays(
    fx: float,
    fy: float,
    cx: float,
    cy: float,
    skew: float,
    ox: float,
    oy: float,
    k1: float,
    k2: float,
    p1: float,
    p2: float,
    k3: float,
    x: np.ndarray,
    y: np.ndarray,
) -> bool:
    """The normalised coordinates of each pixel; False if a pixel has none."""
    for v in range(x.shape[0]):
        for u in range(x.shape[1]):
            yd = (v - cy) / fy
            xd = (u - cx - skew * yd) / fx
            sx, sy = _straighten(xd - ox, yd - oy, k1, k2, p1, p2, k3)
            if not (np.isfinite(sx) and np.isfinite(sy)):
                return False
            x[v, u] = sx + ox
            y[v, u] = sy + oy
    return True


@njit(inline="always")
def _next_word(stream: np.ndarray) -> np.uint64:
    """64 random bits of xoshiro256++; four table entries."""
    word = stream[0] + stream[3]
    word = ((word << np.uint64(23)) | (word >> np.uint64(41))) + stream[0]
    shifted = stream[1] << np.uint64(17)
    stream[2] ^= stream[0]
    stream[3] ^= stream[1]
    stream[1] ^= stream[2]
    stream[0] ^= stream[3]
    stream[2] ^= shifted
    stream[3] = (stream[3] << np.uint64(45)) | (stream[3] >> np.uint64(19))
    return word


@njit(inline="always")
def _luma(pixel: np.ndarray) -> np.float32:
    """Grey of ITU-R BT.601."""
    return (
        np.float32(0.299) * np.float32(pixel[0])
        + np.float32(0.587) * np.float32(pixel[1])
        + np.float32(0.114) * np.float32(pixel[2])
    )


@njit(nogil=True)
def _develop(
    raw: np.ndarray,
    map_x: np.ndarray,
    map_y: np.ndarray,
    mean: np.float32,
    sigma: np.float32,
    table: np.ndarray,
    stream: np.ndarray,
    out: np.ndarray,
) -> None:
    """Looks every pixel up between four of the pinhole image, and adds noise."""
    rows, columns, channels = out.shape
    last_row, last_column = raw.shape[0] - 1, raw.shape[1] - 1
    word, left = np.uint64(0), 0
    for v in range(rows):
        for u in range(columns):
            x = min(max(map_x[v, u], np.float32(0.0)), np.float32(last_column))
            y = min(max(map_y[v, u], np.float32(0.0)), np.float32(last_row))
            i, j = int(x), int(y)
            a, b = x - np.float32(i), y - np.float32(j)
            ii, jj = min(i + 1, last_column), min(j + 1, last_row)
            w00 = (np.float32(1.0) - a) * (np.float32(1.0) - b)
            w01, w10, w11 = a * (np.float32(1.0) - b), (np.float32(1.0) - a) * b, a * b
            for c in range(channels):
                if channels == 1:
                    value = (
                        w00 * _luma(raw[j, i])
                        + w01 * _luma(raw[j, ii])
                        + w10 * _luma(raw[jj, i])
                        + w11 * _luma(raw[jj, ii])
                    )
                else:
                    value = (
                        w00 * np.float32(raw[j, i, c])
                        + w01 * np.float32(raw[j, ii, c])
                        + w10 * np.float32(raw[jj, i, c])
                        + w11 * np.float32(raw[jj, ii, c])
                    )
                if sigma > 0.0:
                    if left == 0:
                        word, left = _next_word(stream), 4
                    value += sigma * table[word & np.uint64(0xFFFF)]
                    word >>= np.uint64(16)
                    left -= 1
                value += mean + np.float32(0.5)
                out[v, u, c] = np.uint8(min(max(value, np.float32(0.0)), np.float32(255.0)))


@njit(nogil=True)
def _measure(
    raw: np.ndarray,
    map_x: np.ndarray,
    map_y: np.ndarray,
    mean: float,
    sigma: float,
    near: float,
    far: float,
    table: np.ndarray,
    stream: np.ndarray,
    out: np.ndarray,
) -> None:
    """Looks every pixel's depth up at the nearest one of the pinhole image, and adds noise."""
    for v in range(out.shape[0]):
        for u in range(out.shape[1]):
            i = min(max(int(map_x[v, u] + 0.5), 0), raw.shape[1] - 1)
            j = min(max(int(map_y[v, u] + 0.5), 0), raw.shape[0] - 1)
            value = raw[j, i]
            if not near <= value <= far:
                out[v, u] = np.inf
            else:
                if sigma > 0.0:
                    value += sigma * table[_next_word(stream) & np.uint64(0xFFFF)]
                out[v, u] = value + mean


@njit(nogil=True)
def ranges_with_noise(
    true: np.ndarray,
    mean: float,
    sigma: float,
    resolution: float,
    minimum: float,
    maximum: float,
    table: np.ndarray,
    stream: np.ndarray,
    out: np.ndarray,
) -> None:
    """Writes a lidar's readings of true distances (M,); inf beyond its range, -inf too near [m]."""
    for k in range(true.shape[0]):
        value = true[k]
        noise = table[_next_word(stream) & np.uint64(0xFFFF)]
        if value > maximum:
            out[k] = np.inf
        elif value < minimum:
            out[k] = -np.inf
        else:
            value += mean + sigma * noise
            if resolution > 0.0:
                value = resolution * math.floor(value / resolution + 0.5)
            out[k] = value


@njit(nogil=True)
def noisy_depths(
    depth: np.ndarray, mean: float, sigma: float, table: np.ndarray, stream: np.ndarray
) -> None:
    """Adds a depth camera's noise to depths (M,) [m] that are not infinite, in place."""
    for k in range(depth.shape[0]):
        if math.isfinite(depth[k]):
            noise = sigma * table[_next_word(stream) & np.uint64(0xFFFF)] if sigma > 0.0 else 0.0
            depth[k] += noise + mean


@njit(nogil=True)
def noisy_levels(
    levels: np.ndarray, mean: np.float32, sigma: np.float32, table: np.ndarray, stream: np.ndarray
) -> None:
    """Adds an image's noise to levels (M,) uint8, in place."""
    word, left = np.uint64(0), 0
    for k in range(levels.shape[0]):
        if left == 0:
            word, left = _next_word(stream), 4
        value = np.float32(levels[k]) + sigma * table[word & np.uint64(0xFFFF)] + mean
        word >>= np.uint64(16)
        left -= 1
        levels[k] = np.uint8(min(max(value + np.float32(0.5), np.float32(0.0)), np.float32(255.0)))
