"""What there is to see in a world, and how much was seen: for figures, not for the flight."""

from collections.abc import Iterable

import numpy as np
from scipy import ndimage
from scipy.spatial.transform import Rotation

from xtdrone_sim.vehicles.shapes import Shape

from ..maps.voxel_kernels import UNKNOWN
from ..maps.voxel_map import VoxelMap


class Coverage:
    """The free places of an area that a start is connected with, between two heights.

    Attributes:
        places: (M, 3) centres of voxels [m].
    """

    def __init__(
        self, shapes: Iterable[Shape], bounds: np.ndarray, start: np.ndarray, resolution: float
    ) -> None:
        """Finds the places.

        Args:
            shapes: What stands in the world; boxes, cylinders and spheres count.
            bounds: (2, 3) lowest and highest corner [m].
            start: (3,) where the vehicle begins [m].
            resolution: Side of a voxel, that of the map [m].
        """
        first, last = (np.floor(each / resolution + 1e-6).astype(int) for each in bounds)
        axes = [(np.arange(a, b) + 0.5) * resolution for a, b in zip(first, last)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        taken = np.zeros(grid.shape[:3], dtype=bool)
        for shape in shapes:
            if shape.collides and shape.kind in ("box", "cylinder", "sphere"):
                taken |= _inside(shape, grid, resolution)
        regions, _ = ndimage.label(~taken)
        cell = np.clip(np.floor(start / resolution).astype(int) - first, 0, last - first - 1)
        self.places = (
            grid[regions == regions[tuple(cell)]] if not taken[tuple(cell)] else grid[~taken]
        )

    def seen(self, voxels: VoxelMap) -> float:
        """Returns which part of the places a map knows, 0 to 1."""
        return float((voxels.at(self.places) != UNKNOWN).mean()) if len(self.places) else 1.0


def _inside(shape: Shape, grid: np.ndarray, resolution: float) -> np.ndarray:
    """Returns which voxels (X, Y, Z) a shape touches, nearly."""
    local = (grid - shape.pose.pos) @ Rotation.from_quat(shape.pose.quat).as_matrix()
    more = 0.75 * resolution
    if shape.kind == "box":
        return np.asarray((np.abs(local) < 0.5 * np.array(shape.size) + more).all(axis=-1))
    if shape.kind == "sphere":
        return np.asarray((local**2).sum(axis=-1) < (shape.size[0] + more) ** 2)
    radius, length = shape.size[:2]
    aside = np.hypot(local[..., 0], local[..., 1]) < radius + more
    return np.asarray(aside & (np.abs(local[..., 2]) < 0.5 * length + more))
