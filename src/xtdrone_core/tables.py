"""Tables that users write or save from a spreadsheet: rows of cells, separated by commas."""

import csv
from pathlib import Path

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
