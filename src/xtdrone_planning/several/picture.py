"""Pictures of flights of several vehicles: ways through what they have seen, and distances."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from xtdrone_core import plot_style

from ..maps.voxel_map import VoxelMap

_TREE = (0.25, 0.2, 0.15)


def draw_ways(path: Path, maps: Sequence[VoxelMap], ways: np.ndarray, marks: np.ndarray) -> None:
    """Draws from above what all have seen at the heights of the flight, and their ways.

    Args:
        path: The picture.
        maps: Of the vehicles.
        ways: (T, N, 3) where they were [m].
        marks: (G, 3) goals [m].
    """
    on = plot_style.figure(10.0, 7.0, "what the vehicles have seen, and their ways")
    axes = plot_style.map_axes(on)
    low, high = ways[:, :, 2].min() - 0.3, ways[:, :, 2].max() + 0.3
    cells = [_occupied(voxels, low, high) for voxels in maps]
    columns = np.unique(np.concatenate(cells), axis=0)
    axes.scatter(
        columns[:, 0], columns[:, 1], s=2.0, marker="s", color=_TREE, linewidths=0.0, label="seen"
    )
    n = ways.shape[1]
    for i in range(n):
        axes.plot(*ways[:, i, :2].T, **{**plot_style.vehicle(i, n), "label": f"vehicle {i}"})
    axes.plot(*marks[:, :2].T, **{**plot_style.WAYPOINT, "label": "goal"})
    plot_style.legend(on, below=True)
    path.parent.mkdir(exist_ok=True)
    plot_style.save(on, path)


def draw_gaps(path: Path, times: np.ndarray, least: np.ndarray, separation: float) -> None:
    """Draws the least distance between two vehicles over time.

    Args:
        path: The picture.
        times: (T,) [s].
        least: (T,) [m].
        separation: That of what is flown [m].
    """
    on = plot_style.figure(8.0, 4.5, "least distance between two vehicles")
    (axes,) = plot_style.time_axes(on, ["distance [m]"])
    axes.plot(times, least, color=plot_style.series(0), label="true")
    axes.axhline(separation, **{**plot_style.SET_POINT, "label": "of what is flown, at least"})
    axes.set_ylim(bottom=0.0)
    plot_style.legend(on, below=True)
    path.parent.mkdir(exist_ok=True)
    plot_style.save(on, path)


def _occupied(voxels: VoxelMap, low: float, high: float) -> np.ndarray:
    """Returns the occupied columns (M, 2) between two heights [m]."""
    places = voxels.occupied()
    inside = (places[:, 2] >= low) & (places[:, 2] <= high)
    return np.round(places[inside, :2], 3)
