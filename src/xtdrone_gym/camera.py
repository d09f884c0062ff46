"""The depth camera of a task, whose image goes into observations as a few numbers."""

import numpy as np

from xtdrone_batch.simulation import BatchSimulation
from xtdrone_dynamics.compiled import njit

from .task import Task


class TaskCamera:
    """A depth camera on each vehicle.

    Attributes:
        pooled: (E, V, P) float32, see pool().
    """

    def __init__(self, batch: BatchSimulation, task: Task):
        """Mounts the camera of a task that has one."""
        assert task.camera is not None
        self._camera, self._threads = batch.add_camera(task.camera), batch.threads
        rows, columns = task.pooled
        self._far = task.camera.far
        self._blocks = np.zeros(
            (batch.environments, batch.vehicles, rows, columns), dtype=np.float32
        )
        self.pooled = self._blocks.reshape(batch.environments, batch.vehicles, rows * columns)

    def look(self, which: np.ndarray) -> None:
        """Takes the images of some environments (indices) as they stand now."""
        everyone = len(which) == len(self._blocks)
        depth = self._camera.capture(None if everyone else which).depth
        assert depth is not None  # it is a depth camera
        self._threads.over(
            len(which), lambda first, last: pool(which[first:last], depth, self._far, self._blocks)
        )


@njit(nogil=True)
def pool(which: np.ndarray, depth: np.ndarray, far: float, out: np.ndarray) -> None:
    """Writes the nearest distance in each block of depth images, as a fraction of `far`.

    Args:
        which: Indices of environments.
        depth: (E, V, H, W) [m], inf where nothing is near.
        far: The longest distance [m].
        out: (E, V, R, C) 0..1, the output; H and W are multiples of R and C.
    """
    height, width = depth.shape[2] // out.shape[2], depth.shape[3] // out.shape[3]
    for e in which:
        for i in range(out.shape[1]):
            for r in range(out.shape[2]):
                for c in range(out.shape[3]):
                    nearest = far
                    for y in range(r * height, (r + 1) * height):
                        for x in range(c * width, (c + 1) * width):
                            nearest = min(nearest, depth[e, i, y, x])
                    out[e, i, r, c] = nearest / far
