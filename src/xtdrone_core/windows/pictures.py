"""Pictures of windows."""

from collections.abc import Callable
from pathlib import Path

from PySide6 import QtWidgets

from .. import outputs
from ..errors import XtdroneError


def save(widget: QtWidgets.QWidget, path: Path | str, error: type[XtdroneError]) -> None:
    """Writes a widget as it looks now into a PNG file.

    Raises:
        XtdroneError: It cannot be written, or somebody else's file is there.
    """
    image = widget.grab().toImage()
    image.setText("Software", outputs.MARK)
    if not image.save(str(outputs.picture(path, error))):
        raise error(
            f"cannot write picture '{path}': give a name that ends in .png, in a folder that can "
            "be written"
        )


def ask_and_save(parent: QtWidgets.QWidget, name: str, write: Callable[[str], None]) -> None:
    """Asks for a file and writes a picture into it; an error is shown in a box.

    Args:
        parent: The window.
        name: Name of the file that is suggested.
        write: Writes the picture; may raise an XtdroneError.
    """
    path, _ = QtWidgets.QFileDialog.getSaveFileName(parent, "Save picture", name, "PNG (*.png)")
    if path:
        try:
            write(path)
        except XtdroneError as error:
            QtWidgets.QMessageBox.warning(parent, "xtdrone", str(error))
