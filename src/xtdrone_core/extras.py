"""Extras: libraries that only some commands need, and how to install them from where a user is."""

from __future__ import annotations  # so that a start need not import what types name

import importlib
import json
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from .errors import XtdroneError

if TYPE_CHECKING:
    from types import ModuleType

_PROJECT = "xtdrone"


def require(
    module: str, what: str, extra: str, error: type[XtdroneError] = XtdroneError, instead: str = ""
) -> ModuleType:
    """Imports a library of an extra.

    Args:
        module: Its name in Python.
        what: What needs it, as the subject of the message.
        extra: Extra of this project that installs it.
        error: Class of the error.
        instead: What does without it, as 'give a .gif'.

    Raises:
        XtdroneError: It is not installed, or cannot be loaded.

    Examples:
        >>> from xtdrone_core import extras
        >>> extras.require("json", "a report", "slam").__name__
        'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        raise error(lacking(what, missing, extra, instead)) from missing


def lacking(what: str, missing: ImportError, extra: str, instead: str = "") -> str:
    """Returns the message of require() for an import that failed elsewhere."""
    remedy = f"{install(extra)}, or {instead}" if instead else install(extra)
    return f"{what} needs a Python package that is not installed ({missing}): {remedy}"


def install(extra: str) -> str:
    """Returns the command that adds an extra to the environment that runs now.

    It installs from where the project itself came: a checkout, a folder, a file or the index.
    """
    pip = shutil.which("pip")
    ours = pip is not None and Path(pip).parent == Path(sys.executable).parent
    return f"{'pip' if ours else f'{sys.executable} -m pip'} install {_source(extra)}"


def _source(extra: str) -> str:
    """Where pip took this project from, by the file that pip wrote (PEP 610)."""
    try:
        written = metadata.distribution(_PROJECT).read_text("direct_url.json")
        came = json.loads(written) if written else {}
    except (metadata.PackageNotFoundError, ValueError):
        came = {}
    path = Path(unquote(urlsplit(came.get("url", "")).path))
    if not came or not path.exists():
        return f"'{_PROJECT}[{extra}]'"
    editable = "-e " if came.get("dir_info", {}).get("editable") else ""
    return f"{editable}'{path}[{extra}]'"
