"""Noise of images and scans: that of sensor_models."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sensor_models.cameras import CameraParameters
from sensor_models.lens import noisy_depths, noisy_levels, ranges_with_noise
from sensor_models.rendered.lidar import LidarParameters
from xtdrone_dynamics.compiled import njit


class Noise(NamedTuple):
    """Noise of a kind of sensor."""

    disturb: Callable[..., None]  # a kernel with the arguments of disturb_images()
    numbers: np.ndarray  # its parameters


def noise_of_camera(camera: CameraParameters) -> Noise | None:
    """Returns a camera's noise, or None where it has none."""
    numbers = np.array([camera.noise_mean, camera.noise_stddev])
    return Noise(disturb_images, numbers) if numbers.any() else None


def noise_of_lidar(lidar: LidarParameters) -> Noise:
    """Returns a lidar's noise and limits."""
    return Noise(
        disturb_ranges,
        np.array(
            [lidar.noise_mean, lidar.noise_stddev, lidar.resolution, lidar.minimum, lidar.maximum]
        ),
    )


@njit(nogil=True)
def disturb_images(
    first: int,
    last: int,
    distance: np.ndarray,
    colour: np.ndarray,
    numbers: np.ndarray,
    table: np.ndarray,
    streams: np.ndarray,
) -> None:
    """Adds noise to the depths and colours of frames first..last-1.

    Args:
        distance, colour: Of Frames.
        numbers: (2,) mean and standard deviation.
        table: lens.normal_table().
        streams: (F, 4) u8 random streams of the frames.
    """
    mean, stddev = numbers[0], numbers[1]
    for f in range(first, last):
        noisy_depths(distance[f], mean, stddev, table, streams[f])
        noisy_levels(
            colour[f], np.float32(255.0 * mean), np.float32(255.0 * stddev), table, streams[f]
        )


@njit(nogil=True)
def disturb_ranges(
    first: int,
    last: int,
    distance: np.ndarray,
    colour: np.ndarray,
    numbers: np.ndarray,
    table: np.ndarray,
    streams: np.ndarray,
) -> None:
    """Adds noise to the distances of scans; see disturb_images().

    Args:
        numbers: (5,) mean, standard deviation, resolution, shortest and longest distance [m].
    """
    for f in range(first, last):
        ranges_with_noise(
            distance[f],
            numbers[0],
            numbers[1],
            numbers[2],
            numbers[3],
            numbers[4],
            table,
            streams[f],
            distance[f],
        )
