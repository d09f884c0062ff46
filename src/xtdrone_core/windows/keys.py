"""Keys of a window: one table gives the shortcuts and the help."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from PySide6 import QtGui, QtWidgets

Action = Callable[[], object]


class Key(NamedTuple):
    """A row of the help, and the keys it names."""

    name: str  # as the help writes it, "space" or "← →"
    what: str  # what it does
    actions: dict[str, Action] = {}  # by key sequence of Qt, "Shift+Left"


def bind(window: QtWidgets.QWidget, keys: Iterable[Key]) -> None:
    """Makes the shortcuts of a window."""
    for key in keys:
        for sequence, action in key.actions.items():
            shortcut = QtGui.QShortcut(QtGui.QKeySequence(sequence), window)
            shortcut.activated.connect(action)


def as_table(keys: Sequence[Key]) -> str:
    """Returns the help as a table in HTML."""
    rows = (f"<tr><td><b>{key.name}</b></td><td>{key.what}</td></tr>" for key in keys)
    return f'<table cellspacing="5">{"".join(rows)}</table>'


def as_line(keys: Sequence[Key]) -> str:
    """Returns the help as a line in HTML."""
    return "&nbsp;&nbsp; ".join(f"<b>{key.name}</b> {key.what}" for key in keys)
