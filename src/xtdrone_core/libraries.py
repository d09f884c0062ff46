"""Shared libraries of the system that windows need, and the packages that contain them.

pip brings Qt, but not the libraries of X11 and OpenGL that it opens.
"""

import ctypes
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from .errors import XtdroneError

# Plugins that Qt opens for a window on X11, below PySide6's Qt/plugins.
QT_PLUGINS = (
    "platforms/libqxcb.so",
    "xcbglintegrations/libqxcb-egl-integration.so",
    "xcbglintegrations/libqxcb-glx-integration.so",
)
_ONE_PACKAGE = {"libglib-2.0.so.0": "libglib2.0-0", "libgthread-2.0.so.0": "libglib2.0-0"}


def qt_files(window: bool = True) -> list[Path]:
    """The ELF files of PySide6 that draw, with window in a window; empty without PySide6."""
    spec = importlib.util.find_spec("PySide6")
    if spec is None or not spec.submodule_search_locations:
        return []
    folder = Path(spec.submodule_search_locations[0])
    plugins = [folder / "Qt" / "plugins" / name for name in QT_PLUGINS if window]
    return [*plugins, *folder.glob("QtOpenGLWidgets*.so")]


def missing_for_qt(window: bool = True) -> list[str]:
    """The libraries that Qt lacks on this machine to draw, with window in a window."""
    lacking: set[str] = set()
    if shutil.which("ldd"):
        for path in qt_files(window):
            said = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
            lacking.update(re.findall(r"(\S+) => not found", said))
    return sorted(lacking)


def packages(libraries: Iterable[str]) -> list[str]:
    """The packages of Debian and Ubuntu with these libraries, by the rule of Debian's policy 8.1.

    The name and the number of a library, in lower case, with a hyphen between two digits.
    """
    return sorted(
        {
            _ONE_PACKAGE.get(name)
            or re.sub(
                r"(\d)?\.so\.(\d+)", lambda m: f"{m[1]}-{m[2]}" if m[1] else m[2], name
            ).lower()
            for name in libraries
        }
    )


def advice(names: Iterable[str]) -> str:
    """Returns the command that installs these packages."""
    return f"run scripts/setup.sh, or 'apt-get install {' '.join(names)}'"


def require_qt(error: type[XtdroneError], window: bool = True) -> None:
    """Raises an error that names what Qt lacks here; Qt itself would abort."""
    if lacking := missing_for_qt(window):
        what = "open a window" if window else "draw"
        raise error(f"Qt cannot {what} without {', '.join(lacking)}: {advice(packages(lacking))}")


def _opens(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True
