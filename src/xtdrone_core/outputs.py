"""Writing files that a user names: somebody else's file is never replaced.

A file of ours is known by its contents, so that a command can be repeated: pictures carry the
name of the program, others begin as the program writes them.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import XtdroneError, shown
from .files import FileError, kind_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "xtdrone"  # mark in the metadata of pictures
_SEEN = 8192  # bytes at both ends of a file that tell what it is
_FIELD = {".png": "Software", ".pdf": "Creator", ".svg": "Creator"}  # names the program


def free_for(
    path: Path | str,
    what: str,
    ours: Callable[[bytes], bool],
    error: type[XtdroneError] = FileError,
) -> Path:
    """A path that may be written to.

    Args:
        path: Given by the user.
        what: What will be written, for messages.
        ours: Whether a file may be replaced that begins and ends with these bytes.
        error: Class of the errors.

    Returns:
        The path.

    Raises:
        XtdroneError: Something else is there, or there is no folder for it.
    """
    path = Path(path).expanduser()
    try:
        try:
            kind = kind_of(os.stat(path).st_mode)
        except FileNotFoundError:
            os.stat(path.parent)
            return path
        ends = b"" if kind else _ends(path)
    except (OSError, ValueError) as failed:
        raise error(
            f"cannot write {what} '{shown(path)}': "
            f"{getattr(failed, 'strerror', None) or failed}; give a file in a folder that "
            "can be written"
        ) from failed
    if kind:
        raise error(f"cannot write {what} '{shown(path)}': it is {kind}, give a file")
    if ends and not ours(ends):
        raise error(
            f"'{shown(path)}' exists and is no {what} of xtdrone's: it is left alone, give "
            "another name or remove it"
        )
    return path


def picture(path: Path | str, error: type[XtdroneError] = FileError) -> Path:
    """A path that a picture may be written to.

    Raises:
        XtdroneError: Its name ends in nothing that can be drawn, or as free_for().
    """
    if Path(path).suffix.lower() not in _FIELD:
        raise error(
            f"cannot write picture '{shown(path)}': give a name that ends in {', '.join(_FIELD)}"
        )
    return free_for(path, "picture", lambda ends: MARK.encode() in ends, error)


def save_figure(
    figure: "Figure", path: Path | str, dpi: int = 110, error: type[XtdroneError] = FileError
) -> None:
    """Saves a figure of Matplotlib, with the mark by which picture() knows it again.

    Raises:
        XtdroneError: It cannot be written.
    """
    suffix = Path(path).suffix.lower()
    metadata = {_FIELD[suffix]: MARK}
    date = {".pdf": "CreationDate", ".svg": "Date"}.get(suffix)
    if date:
        metadata[date] = None  # type: ignore[assignment]  # the same at each repetition
    try:
        figure.savefig(path, dpi=dpi, metadata=metadata)
    except OSError as failed:
        raise cannot_write(path, failed, error) from failed


def cannot_write(path: Path | str, failed: OSError, error: type[XtdroneError]) -> XtdroneError:
    """The error of a file that could not be written."""
    return error(
        f"cannot write '{shown(path)}': {failed.strerror or failed}; give a file in a "
        "folder that can be written"
    )


def _ends(path: Path) -> bytes:
    with open(path, "rb") as file:
        head = file.read(_SEEN)
        file.seek(max(len(head), file.seek(0, os.SEEK_END) - _SEEN))
        return head + file.read(_SEEN)
