"""Whether a window can be opened here; Qt ends the process where it cannot."""

import os
import subprocess
import sys

from xtdrone_core import libraries

from ..errors import ViewError

_PROBE = "from PySide6.QtWidgets import QApplication; QApplication([])"
_LIMIT_S = 60.0
_SAYS_WHY = ("could not", "cannot", "no module", "error")


def named() -> bool:
    """Whether the environment names a display."""
    return any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")))


def check() -> None:
    """Tries to connect to the display, in a process of its own.

    Raises:
        ViewError: There is none, or Qt cannot use it.
    """
    if not named():
        raise ViewError(
            "there is no display for a window: give --mp4, --gif or --png FILE, or set DISPLAY"
        )
    libraries.require_qt(ViewError)
    try:
        probe = subprocess.run(
            [sys.executable, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ViewError(
            f"the display does not answer within {_LIMIT_S:g} s: give --mp4, --gif or --png FILE"
        ) from error
    if probe.returncode:
        raise ViewError(
            f"a window cannot be opened: {reason(probe.stderr)}; give --mp4, --gif or "
            "--png FILE, or set DISPLAY"
        )


def reason(said: str) -> str:
    """Of what a process has written before it failed, the line that says why."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for word in _SAYS_WHY:
        for line in lines:
            if word in line.lower():
                return line
    return lines[-1] if lines else "it says nothing"
