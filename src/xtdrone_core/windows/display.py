"""Whether a window can be opened here. Qt itself ends the process where it cannot."""

import os
import shutil
import subprocess
import sys

from .. import extras, libraries
from ..errors import XtdroneError
from ..runs.parent import tied

_PROBE = "from PySide6.QtWidgets import QApplication; QApplication([])"
_PROBE_LIMIT_S = 60.0
_REASON_WORDS = ("could not", "cannot", "no module", "error")


def is_named() -> bool:
    """Tells whether the environment names a display."""
    return any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")))


def require_named(error: type[XtdroneError], remedy: str) -> None:
    """Checks that the environment names a display.

    Args:
        error: Class of the error.
        remedy: What to do where there is none.

    Raises:
        XtdroneError: There is none.
    """
    if not is_named():
        raise error(f"there is no display for a window: {remedy}")


def require(error: type[XtdroneError], remedy: str) -> None:
    """Tries to connect to the display, in a process of its own.

    Args:
        error: Class of the error.
        remedy: What to do where no window can be opened.

    Raises:
        XtdroneError: There is no display, or Qt cannot use it.
    """
    require_named(error, remedy)
    require_qt(error)
    try:
        probe = subprocess.run(
            [sys.executable, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=_PROBE_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as failed:
        raise error(
            f"the display does not answer within {_PROBE_LIMIT_S:g} s: {remedy}"
        ) from failed
    if probe.returncode:
        raise error(f"a window cannot be opened: {failure_reason(probe.stderr)}; {remedy}")


def require_qt(error: type[XtdroneError], *modules: str, window: bool = True) -> None:
    """Checks that Qt can draw here.

    Args:
        error: Class of the error.
        modules: Python modules that are needed besides PySide6.
        window: Whether a window is opened, not only a picture drawn.

    Raises:
        XtdroneError: A package or a library of the system is missing.
    """
    libraries.require_qt(error, window)
    for name in ("PySide6", *modules):
        extras.require(name, "the window", "view", error)


def draw_offscreen() -> None:
    """Lets Qt draw without a display, for pictures of plots."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"


def start_virtual(error: type[XtdroneError]) -> None:
    """Starts a virtual X server (Xvfb) if there is no display, for pictures in 3D.

    The server ends by itself after this process, since Qt would not survive its end.

    Raises:
        XtdroneError: Xvfb is not installed, or does not start.
    """
    if os.environ.get("DISPLAY"):
        return
    if shutil.which("Xvfb") is None:
        raise error("there is no display, and no Xvfb to draw without one: apt-get install xvfb")
    read, write = os.pipe()
    subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
        + ["-terminate"],
        pass_fds=[write],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=tied(),
    )
    os.close(write)
    with os.fdopen(read) as answer:
        number = answer.readline().strip()
    if not number:
        raise error("Xvfb does not start: try it by hand with 'Xvfb :99'")
    os.environ["DISPLAY"] = f":{number}"


def failure_reason(output: str) -> str:
    """Returns the line that says why a process failed, of what it wrote."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for word in _REASON_WORDS:
        for line in lines:
            if word in line.lower():
                return line
    return lines[-1] if lines else "it says nothing"
