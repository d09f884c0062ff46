"""Reads trajectories of others: TUM files, EuRoC's csv, KITTI's poses with times, and bags.

The table in memory is that of formats.py: (T, 8) with time [s], position [m], quaternion xyzw.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from scipy.spatial.transform import Rotation

from xtdrone_core import files
from xtdrone_core.errors import shown
from xtdrone_core.runs import bags

from ..errors import SlamError
from . import formats

MAX_POSITION = 1e9  # largest coordinate, also of a map's grid or from the Earth's centre [m]
_MAX_TIME = 1e11  # largest time stamp, also since 1970 [s]
_COLUMNS = "t x y z qx qy qz qw"
_TUM, _KITTI, _EUROC = 8, 12, 8  # numbers of a row; of EuRoC's at least
_UNITS = (  # least time stamp, name, how many a second has
    (1e17, "nanoseconds", "1e9"),
    (1e14, "microseconds", "1e6"),
    (_MAX_TIME, "milliseconds", "1e3"),
)
_BAG = re.compile(r"(.+\.(?:bag|mcap|db3))(?::(.+))?")  # file and topic
_Fail = Callable[[int, str], NoReturn]


def read(path: Path, times: np.ndarray | None = None) -> np.ndarray:
    """Reads a trajectory (T, 8).

    Rows are of TUM's form (`t x y z qx qy qz qw`), of EuRoC's csv (time [ns], position, quaternion
    wxyz, and more), or KITTI's (12 numbers of [R | t]) behind a time, or with a file of times:
    times.txt or NAME_times.txt beside it, or that of KITTI's sequence of this name. A last row
    that is incomplete without a line end is left out. Of a bag, FILE:TOPIC names a topic with
    poses or a frame of tf; FILE is enough if there is one.

    Args:
        path: The file.
        times: (T,) for KITTI's poses that have none [s].

    Raises:
        SlamError: The file is missing or of another form.
    """
    path = Path(path)
    if found := _BAG.fullmatch(str(path)):
        return _of_bag(Path(found[1]), found[2])
    rows = formats.read_rows(path)

    def fail(number: int, reason: str) -> NoReturn:
        raise SlamError(
            f"row {number} of '{shown(path)}', '{shown(rows[number - 1])}', {reason}"
            f": give {_COLUMNS} in each row, or EuRoC's csv, or KITTI's poses with times"
        )

    if not rows:
        raise SlamError(f"'{shown(path)}' contains no pose: give {_COLUMNS} in each row")
    if is_euroc(path):
        return _checked(_of_euroc(rows, fail), fail)
    table = _numbers(rows, fail)
    if table.shape[1] == _TUM:
        return _checked(table, fail)
    if table.shape[1] == _KITTI:
        return _checked(_of_kitti(_times(path, len(rows), times), table, fail), fail)
    if table.shape[1] == _KITTI + 1:
        return _checked(_of_kitti(table[:, 0], table[:, 1:], fail), fail)
    fail(1, f"has {table.shape[1]} numbers, not {_TUM}")


def count_without_times(path: Path) -> int:
    """Returns the number of KITTI's poses in a file without times; 0 for all other trajectories.

    Raises:
        SlamError: The file cannot be read.
    """
    if _BAG.fullmatch(str(path)):
        return 0
    rows = formats.read_rows(path)
    words = rows[0].split() if rows else []
    plain = len(words) == _KITTI and all(map(_is_number, words))
    return len(rows) if plain and _file_of_times(path) is None else 0


def _of_bag(path: Path, topic: str | None) -> np.ndarray:
    """Returns the poses (T, 8) of a bag's topic or frame."""
    with bags.opened(path, SlamError) as bag:
        if topic in bag.topics:
            tables = bag.poses(lambda name: name == topic)
        else:
            tables = bag.poses() or bag.transforms()
        if not tables:
            raise SlamError(
                f"'{shown(path)}' has no poses ({bags.WANTED}): it has {bag.described()}"
            )
    if topic is None and len(tables) == 1:
        return next(iter(tables.values()))
    if topic not in tables:
        what = "several poses" if topic is None else f"no poses {topic}"
        known = ", ".join(sorted(tables))
        raise SlamError(f"'{shown(path)}' has {what}: give {path.name}:TOPIC, one of {known}")
    return tables[topic]


def is_euroc(path: Path) -> bool:
    """Returns whether rows are EuRoC's: commas, whole nanoseconds, and its header or large times.

    Raises:
        SlamError: The file cannot be read.
    """
    first = next(iter(formats.read_rows(path)), "").split(",")
    if len(first) == 1 or not first[0].strip().isdecimal():
        return False
    head = files.read_text(path, "table", error=SlamError).lstrip()
    return head.startswith("#timestamp") or int(first[0]) > _MAX_TIME


def _of_euroc(rows: Sequence[str], fail: _Fail) -> np.ndarray:
    table = np.empty((len(rows), _TUM))
    for number, row in enumerate(rows, 1):
        cells = row.split(",")
        try:
            values = [float(cell) for cell in cells[1:_EUROC]]
            table[number - 1, 0] = int(cells[0]) * 1e-9
        except ValueError:
            fail(number, "is no row of numbers")
        if len(values) != _EUROC - 1:
            fail(number, f"has {len(cells)} cells, and a pose of EuRoC's csv at least {_EUROC}")
        table[number - 1, 1:] = [*values[:3], *values[4:], values[3]]
    return table


def _numbers(rows: Sequence[str], fail: _Fail) -> np.ndarray:
    """Returns rows of numbers, separated by blanks, as a table."""
    table: list[list[float]] = []
    for number, row in enumerate(rows, 1):
        for sign, name in ((",", "commas"), (";", "semicolons")):
            if sign in row:
                header = number == 1 and not _is_number(row.split(sign)[0])
                fail(
                    number,
                    f"is a header of a table with {name}" if header else f"is separated by {name}",
                )
        words = row.split()
        if not all(map(_is_number, words)):
            fail(number, "is no row of numbers" + (", a header begins with #" * (number == 1)))
        if table and len(words) != len(table[0]):
            fail(number, f"has {len(words)} numbers, and the rows before it have {len(table[0])}")
        table.append([float(word) for word in words])
    return np.array(table)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _places_of_times(path: Path) -> list[Path]:
    return [
        path.with_name(f"{path.stem}_times.txt"),
        path.with_name("times.txt"),
        path.parent.parent / "sequences" / path.stem / "times.txt",
    ]


def _file_of_times(path: Path) -> Path | None:
    """Returns the file with the times of a file of KITTI's poses."""
    return next((place for place in _places_of_times(path) if files.is_file(place)), None)


def _times(path: Path, count: int, given: np.ndarray | None) -> np.ndarray:
    """Returns the times (T,) of KITTI's poses, from a file of their own, or those given."""
    found = _file_of_times(path)
    if found is None and given is not None:
        return given
    if found is None:
        first, second, _ = _places_of_times(path)
        raise SlamError(
            f"'{shown(path)}' has 12 numbers in each row, KITTI's poses, and no times: put "
            f"{first.name} or {second.name} beside it, one time [s] in each row"
        )
    try:
        times = np.array([float(row) for row in formats.read_rows(found)])
    except ValueError as error:
        raise SlamError(f"'{shown(found)}' is no file of times: {shown(error)}") from error
    if len(times) != count:
        raise SlamError(
            f"'{shown(found)}' has {len(times)} times, and '{shown(path)}' {count} poses"
        )
    return times


def _of_kitti(times: np.ndarray, matrices: np.ndarray, fail: _Fail) -> np.ndarray:
    poses = matrices.reshape(-1, 3, 4)
    rotations = poses[:, :, :3]
    with np.errstate(over="ignore", invalid="ignore"):  # such a product is no identity
        product = rotations @ rotations.transpose(0, 2, 1)
    wrong = ~np.isclose(product, np.eye(3), atol=0.05).all(axis=(1, 2))
    wrong |= np.isfinite(product).all(axis=(1, 2)) & (np.linalg.det(rotations) < 0.0)
    if wrong.any():
        fail(int(np.argmax(wrong)) + 1, "has no rotation in its 3 x 4 matrix")
    return np.column_stack([times, poses[:, :, 3], Rotation.from_matrix(rotations).as_quat()])


def _checked(table: np.ndarray, fail: _Fail) -> np.ndarray:
    """Returns a table of finite poses, whose times are seconds."""
    with np.errstate(over="ignore"):  # an infinite norm is refused below
        norms = np.linalg.norm(table[:, 4:], axis=1)
    for wrong, reason in (
        (~np.isfinite(table).all(axis=1), "has numbers that are not finite"),
        (
            np.abs(table[:, 0]) > _MAX_TIME,
            "has a time stamp in {unit}, and TUM's are in seconds, divide it by {count}",
        ),
        ((np.abs(table[:, 1:4]) > MAX_POSITION).any(axis=1), f"is beyond {MAX_POSITION:g} m"),
        (~((norms > 0.5) & (norms < 2.0)), "has no unit quaternion"),
    ):
        if wrong.any():
            first = int(np.argmax(wrong))
            stamp = abs(table[first, 0])
            _, unit, count = next((each for each in _UNITS if stamp > each[0]), (0, "", ""))
            fail(first + 1, reason.format(unit=unit, count=count))
    return table
