"""The error of this package, and the one of a library that is not installed."""

import importlib
from types import ModuleType

from xtdrone_core.errors import XtdroneError


class PerceptionError(XtdroneError):
    """Pictures, markers or detections that cannot be made as asked."""


def require(module: str, package: str, what: str, extra: str = "perception") -> ModuleType:
    """Imports a library of an extra.

    Args:
        module: Its name in Python.
        package: Its name for pip.
        what: What needs it, as the subject of the message.
        extra: Extra of this project that installs it.

    Raises:
        PerceptionError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PerceptionError(
            f"{what} needs the Python package {package} ({error}): pip install 'xtdrone[{extra}]'"
        ) from error
