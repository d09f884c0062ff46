"""Tasks: what is to be done at which place, and the way that it takes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.tables import read_table

from ..errors import CooperationError

LANE_M = 4.0  # between two lanes of an area [m]
FARTHEST_M = 10e3  # greatest coordinate of a task [m]
_CORNERS = 8  # points of a circle
COLUMNS = ("name", "kind", "x", "y", "size", "seconds", "to_x", "to_y")
_NEEDED = 4  # columns without which there is no task


@dataclass(frozen=True)
class Task:
    """Something to do.

    Attributes:
        name: Of the task.
        kind: One of KINDS.
        x, y: Its place, east and north of the world's origin [m].
        size: Side of an area, or diameter of a circle [m].
        seconds: Stay at the end [s].
        to_x, to_y: Where what is delivered goes [m].
    """

    name: str
    kind: str
    x: float
    y: float
    size: float = 10.0
    seconds: float = 2.0
    to_x: float = 0.0
    to_y: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise CooperationError(unknown_name("kind of task", self.kind, KINDS))
        for name in COLUMNS[2:]:
            value = getattr(self, name)
            least = 0.0 if name in ("size", "seconds") else -FARTHEST_M
            if not least <= value <= FARTHEST_M:
                raise CooperationError(
                    f"{name} {value:g} of task '{shown(self.name)}' is not allowed: give "
                    f"{least:g} to {FARTHEST_M:g}"
                )

    def way(self) -> np.ndarray:
        """Returns the points (K, 2) that are flown to, one after the other [m]."""
        return KINDS[self.kind](self)


def _visit(task: Task) -> np.ndarray:
    """Fly there."""
    return np.array([[task.x, task.y]])


def _inspect(task: Task) -> np.ndarray:
    """Fly a circle round it."""
    turn = np.linspace(0.0, 2.0 * math.pi, _CORNERS + 1)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    return np.array([task.x, task.y]) + 0.5 * task.size * circle


def _cover(task: Task) -> np.ndarray:
    """Fly over a square in lanes."""
    count = max(math.ceil(task.size / LANE_M), 1)
    across = (np.arange(count) + 0.5) / count - 0.5
    lanes = [(side * (-1) ** k, x) for k, x in enumerate(across) for side in (-0.5, 0.5)]
    return np.array([task.x, task.y]) + task.size * np.array(lanes)


def _search(task: Task) -> np.ndarray:
    """Fly an expanding square from its middle."""
    turns = 2 * max(math.ceil(0.5 * task.size / LANE_M), 1)
    legs = [task.size * (k + 1) / turns for k in range(turns) for _ in range(2)]
    points, place = [(0.0, 0.0)], [0.0, 0.0]
    for k, length in enumerate([*legs, task.size]):  # the last one closes the square
        place[k % 2] += length if k % 4 < 2 else -length
        points.append((place[0], place[1]))
    return np.array([task.x, task.y]) + np.array(points)


def _deliver(task: Task) -> np.ndarray:
    """Fetch it here and bring it there."""
    return np.array([[task.x, task.y], [task.to_x, task.to_y]])


KINDS: dict[str, Callable[[Task], np.ndarray]] = {
    "visit": _visit,
    "inspect": _inspect,
    "cover": _cover,
    "search": _search,
    "deliver": _deliver,
}


def read_tasks(path: Path | str) -> list[Task]:
    """Reads the tasks of a CSV file with the header COLUMNS; those after y may be left out.

    Raises:
        CooperationError: It is no such table, or has no task.
    """
    head, *rows = read_table(path, "table of tasks", CooperationError) or [[]]
    where = f"table of tasks '{shown(path)}'"
    for name in head:
        if name not in COLUMNS:
            raise CooperationError(f"{where}: {unknown_name('column', name, COLUMNS)}")
    lacking = [name for name in COLUMNS[:_NEEDED] if name not in head]
    if lacking:
        raise CooperationError(f"{where} has no column {lacking[0]}: begin it with {_header()}")
    if not rows:
        raise CooperationError(f"{where} has no task: give a row for each below {_header()}")
    return [_task_of(head, row, f"row {number} of {where}") for number, row in enumerate(rows, 2)]


def _task_of(head: Sequence[str], row: Sequence[str], where: str) -> Task:
    cells = {name: cell for name, cell in zip(head, row) if cell}
    lacking = [name for name in COLUMNS[:_NEEDED] if name not in cells]
    if lacking or len(row) > len(head):
        what = f"lacks {lacking[0]}" if lacking else f"has {len(row)} cells for {len(head)} columns"
        raise CooperationError(f"{where} {what}: give {','.join(head)}")
    numbers = {}
    for name in COLUMNS[2:]:
        if name in cells:
            try:
                numbers[name] = float(cells[name])
            except ValueError:
                raise CooperationError(
                    f"{name} '{shown(cells[name])}' in {where} is not allowed: give a number"
                ) from None
    try:
        return Task(cells["name"], cells["kind"], **numbers)
    except CooperationError as error:
        raise CooperationError(f"{where}: {error}") from error


def random_tasks(count: int, area: float, seed: int) -> list[Task]:
    """Draws visits in a square.

    Args:
        count: How many.
        area: Side of the square round the origin [m].
        seed: Of the draw.
    """
    places = np.random.default_rng(seed).uniform(-0.5 * area, 0.5 * area, (count, 2))
    return [Task(f"visit_{k}", "visit", *map(float, place)) for k, place in enumerate(places)]


def _header() -> str:
    return ",".join(COLUMNS)
