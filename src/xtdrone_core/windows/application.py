"""The Qt application, and the loop of a window."""

import signal
from collections.abc import Callable
from typing import cast

from PySide6 import QtCore, QtGui, QtWidgets


def application(background: str | None = None) -> QtWidgets.QApplication:
    """Returns the Qt application of this process, which is made if there is none.

    Args:
        background: Colour of its widgets (#rrggbb), whatever the theme of the desktop; None: the
            theme's.
    """
    QtCore.QCoreApplication.setAttribute(QtCore.Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    app = cast(
        QtWidgets.QApplication,
        QtWidgets.QApplication.instance() or QtWidgets.QApplication(["xtdrone"]),
    )
    if background is not None:
        app.setStyle("Fusion")
        app.setPalette(QtGui.QPalette(QtGui.QColor(background)))
    return app


def repeat(update: Callable[[], object], period_ms: int) -> QtCore.QTimer:
    """Calls a function periodically; keep the timer that is returned."""
    timer = QtCore.QTimer(interval=period_ms)
    timer.timeout.connect(update)
    timer.start()
    return timer


def run(window: QtWidgets.QWidget | None = None) -> int:
    """Shows a window and returns when it is closed, or at Ctrl-C ends the process.

    Args:
        window: The window; None: the application runs without one, until its quit().

    Returns:
        The exit status of the application: 1 if its display was lost.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Qt's loop would not see Ctrl-C
    if window is not None:
        window.show()
    return application().exec()
