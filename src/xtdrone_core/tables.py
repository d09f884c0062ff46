"""Tables that users write or save from a spreadsheet: rows of cells, separated by commas."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from . import files
from .errors import XtdroneError, shown

_OTHERS = ((";", "semicolons"), ("\t", "tabs"))


def read_table(
    path: Path | str, what: str = "table", error: type[XtdroneError] = files.FileError
) -> list[list[str]]:
    """Reads the rows of a CSV file, without blanks round the cells.

    Empty cells at the end of a row, as spreadsheets write them, count as none, and so do rows
    without a cell or that begin with #.

    Args:
        path: The file.
        what: What it should be, for messages.
        error: Class of the errors.

    Raises:
        XtdroneError: As files.read_text(), it is no CSV, or other signs separate its cells.
    """
    text = files.read_text(path, what, error=error)
    rows = []
    try:
        for row in csv.reader(text.split("\n")):
            cells = [cell.strip() for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells and not cells[0].startswith("#"):
                rows.append(cells)
    except csv.Error as failed:
        raise error(f"cannot read {what} '{shown(path)}': {shown(failed)}") from failed
    for number, cells in enumerate(rows, 1):
        for sign, name in _OTHERS:
            if any(sign in cell for cell in cells):
                raise error(
                    f"row {number} of {what} '{shown(path)}' is '{shown(','.join(cells))}': it is "
                    f"separated by {name}, separate it by commas, with points in numbers"
                )
    return rows


def points_of(
    rows: Sequence[Sequence[str]], name: str, farthest: float, each: str, error: type[XtdroneError]
) -> np.ndarray:
    """Returns the points of the rows of a table, x, y, z in each; a header of those is skipped.

    Args:
        rows: As of read_table().
        name: Name of the table, for messages.
        farthest: Largest coordinate [m].
        each: What follows 'give x,y,z in metres, up to ...' in messages.
        error: Class of the errors.

    Returns:
        (P, 3) [m].

    Raises:
        XtdroneError: A row is not three numbers, or one is too large.
    """
    if rows and [cell.lower() for cell in rows[0]] == ["x", "y", "z"]:
        rows = rows[1:]
    points = []
    for number, row in enumerate(rows, 1):
        try:
            point = [float(cell) for cell in row]
        except ValueError:
            point = []
        if len(point) != 3 or not all(abs(x) <= farthest for x in point):
            raise error(
                f"row {number} of {name} is '{shown(','.join(row))}': "
                f"give x,y,z in metres, up to {farthest:g}{each}"
            )
        points.append(point)
    return np.array(points).reshape(-1, 3)
