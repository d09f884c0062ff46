"""What render() of an interface draws."""

from typing import Any

import numpy as np

from xtdrone_batch.errors import BatchError

from ..task_batch import TaskBatch

RENDER_MODES = ("rgb_array",)
MAX_VIEWS = 4  # environments that are drawn


class Views:
    """Images of the first environments of a TaskBatch, whose scenes are made by the first call."""

    def __init__(self, tasks: TaskBatch, mode: str | None):
        """Takes a render_mode.

        Raises:
            BatchError: There is no such mode.
        """
        if mode is not None and mode not in RENDER_MODES:
            raise BatchError(
                f"render_mode '{mode}' is not allowed: give {' or '.join(RENDER_MODES)}, or None"
            )
        self._tasks, self._mode = tasks, mode
        self._views: list[Any] = []

    def images(self) -> tuple[np.ndarray, ...] | None:
        """Returns (h, w, 3) uint8 of the first MAX_VIEWS environments; None without a mode."""
        if self._mode is None:
            return None
        if not self._views:
            from ..rendering import View  # takes a second, and learning does without

            self._views = [
                View(self._tasks, e) for e in range(min(self._tasks.environments, MAX_VIEWS))
            ]
        return tuple(view.image() for view in self._views)

    def close(self) -> None:
        """Frees the scenes. May be called twice."""
        for view in self._views:
            view.close()
        self._views = []
