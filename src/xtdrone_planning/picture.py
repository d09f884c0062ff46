"""The picture of a flight through what was unknown: the map from above, and the way."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from xtdrone_core import plot_style

from .maps.voxel_kernels import UNKNOWN
from .maps.voxel_map import VoxelMap

_FREE, _UNSEEN = (0.93, 0.95, 0.97), (0.8, 0.8, 0.8)


def draw(path: Path, voxels: VoxelMap, way: np.ndarray, goals: np.ndarray) -> None:
    """Draws a map from above at the heights of the flight.

    Args:
        path: The picture.
        voxels: The map.
        way: (K, 3) where the vehicle was [m].
        goals: (G, 3) [m].
    """
    on = plot_style.figure(10.0, 7.0, "what was seen, and the way through it")
    axes = plot_style.map_axes(on)
    heights = way[:, 2] if len(way) else goals[:, 2]
    low, high = max(float(heights.max()) - 1.5, 0.5), float(heights.max()) + 0.3
    image, extent = _cropped(*_from_above(voxels, low, high))
    axes.set_facecolor(_UNSEEN)
    axes.grid(False)
    axes.imshow(image, extent=extent, origin="lower", interpolation="nearest", zorder=0)
    if len(way):
        axes.plot(*way[:, :2].T, label="flown", **plot_style.vehicle(0, 1))
    axes.plot(*goals[:, :2].T, **{**plot_style.WAYPOINT, "label": "goal"})
    plot_style.legend(on, below=True)
    path.parent.mkdir(exist_ok=True)
    plot_style.save(on, path)


def _from_above(
    voxels: VoxelMap, low: float, high: float
) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """Returns an image (Y, X, 3) of what is between two heights, and its extent."""
    bounds = voxels.bounds
    levels = np.floor((np.array([low, high]) - bounds[0, 2]) / voxels.resolution).astype(int)
    levels = np.clip(levels, 0, voxels.cells.shape[2] - 1)
    slab = voxels.unrolled()[:, :, levels[0] : levels[1] + 1]
    occupied = (slab > 0).any(axis=2)
    seen = (slab != UNKNOWN).any(axis=2)
    image = np.empty((*occupied.shape, 3))
    image[:] = _UNSEEN
    image[seen] = _FREE
    image[occupied] = 0.25, 0.2, 0.15
    (x0, y0, _), (x1, y1, _) = bounds
    return image.transpose(1, 0, 2), (x0, x1, y0, y1)


def _cropped(
    image: np.ndarray, extent: tuple[float, float, float, float]
) -> tuple[np.ndarray, tuple[float, float, float, float]]:
    """Returns the part of an image in which something was seen, and its extent [m]."""
    rows, columns = np.nonzero((image != _UNSEEN).any(axis=2))
    if not len(rows):
        return image, extent
    x0, x1, y0, y1 = extent
    width, height = (x1 - x0) / image.shape[1], (y1 - y0) / image.shape[0]
    top, bottom = rows.max() + 1, rows.min()
    left, right = columns.min(), columns.max() + 1
    kept = x0 + width * left, x0 + width * right, y0 + height * bottom, y0 + height * top
    return image[bottom:top, left:right], kept


def draw_coverage(path: Path, flights: Mapping[str, np.ndarray]) -> None:
    """Draws what was seen of what there is over time.

    Args:
        path: The picture.
        flights: By label, (T, 3) time [s], known volume [m^3], part that was seen.
    """
    on = plot_style.figure(8.0, 4.5, "what was seen of what there is")
    (axes,) = plot_style.time_axes(on, ["seen [%]"])
    for k, (label, rows) in enumerate(flights.items()):
        axes.plot(rows[:, 0], 100.0 * rows[:, 2], color=plot_style.series(k), label=label)
    axes.axhline(98.0, **{**plot_style.SET_POINT, "label": "98 %"})
    axes.set_ylim(0.0, 102.0)
    plot_style.legend(on, below=True)
    path.parent.mkdir(exist_ok=True)
    plot_style.save(on, path)
