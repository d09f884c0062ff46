"""The data of a figure as CSV, read from the curves that were drawn."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import outputs
from .errors import XtdroneError
from .files import FileError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADER = ("panel", "curve", "horizontal axis", "x", "vertical axis", "y", "z")


def save(made: "Figure", path: Path, error: type[XtdroneError] = FileError) -> Path:
    """Writes a row for each point of each named curve; z is that of a map in space.

    Raises:
        XtdroneError: It cannot be written.
    """
    try:
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(HEADER)
            for number, axes in enumerate(made.axes, 1):
                for name, points in _curves(axes):
                    for x, y, *z in points:
                        row = [f"{x:.9g}", axes.get_ylabel(), f"{y:.9g}", *(f"{v:.9g}" for v in z)]
                        table.writerow([number, name, axes.get_xlabel() or _shared(axes), *row])
    except OSError as failed:
        raise outputs.cannot_write(path, failed, error) from failed
    return path


def _curves(axes: Any) -> Iterator[tuple[str, np.ndarray]]:  # axes: Axes or Axes3D
    """Yields the label and the points (K, 2) or (K, 3) of each curve and group of marks."""
    for line in axes.lines:
        parts = line.get_data_3d() if hasattr(line, "get_data_3d") else line.get_data()
        points = np.column_stack([np.asarray(part, dtype=float) for part in parts])
        if not str(line.get_label()).startswith("_") and len(points):
            yield str(line.get_label()), points
    for marks in axes.collections:
        in_space: Any = getattr(marks, "_offsets3d", None)  # Matplotlib has no other way to them
        points = marks.get_offsets() if in_space is None else np.column_stack(in_space)
        if not str(marks.get_label()).startswith("_") and len(points):
            yield str(marks.get_label()), np.asarray(points, dtype=float)


def _shared(axes: Any) -> str:  # axes: Axes
    """The label of a horizontal axis that is written under the lowest panel only."""
    shared = axes.get_shared_x_axes().get_siblings(axes)
    return next((panel.get_xlabel() for panel in shared if panel.get_xlabel()), "")
