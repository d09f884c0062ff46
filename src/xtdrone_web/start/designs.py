"""A vehicle from its parts: `xtdrone vehicle new` in a process of its own."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from xtdrone_core.errors import one_line, shown
from xtdrone_core.runs.run_folder import check_name

from ..errors import WebError

_LONGEST = 120.0  # for a table of a generic propeller on a busy machine [s]
_MAX_PARTS = 20
_MAX_TEXT = 80  # characters of a value


def made(folder: Path, name: str, parts: Any) -> tuple[Path, str]:  # any value of JSON
    """Makes a model of the user; returns its folder and what the command printed.

    Args:
        folder: Folder of all models of the user.
        name: Name of this one.
        parts: Numbers and texts by the names of the command's options.

    Raises:
        XtdroneError: It is no name, there is such a model already, or the parts cannot be.
    """
    check_name(name)
    place = folder / name
    if place.exists():
        raise WebError(f"there is a model '{name}' already: give it another name, or remove that")
    if not isinstance(parts, dict) or len(parts) > _MAX_PARTS:
        raise WebError('parts of a vehicle are {"frame": 450, "kv": 920, ...}')
    given = {str(key): value for key, value in parts.items() if str(value).strip()}
    if any(len(str(value)) > _MAX_TEXT for value in given.values()):
        raise WebError(f"a part of a vehicle has at most {_MAX_TEXT} characters")
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "parts.yaml"
        file.write_text(json.dumps({**given, "name": name}))
        words = ["vehicle", "new", "--parts", str(file), "--out", str(place)]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "xtdrone_core.command", *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_LONGEST,
            )
        except subprocess.TimeoutExpired as late:
            shutil.rmtree(place, ignore_errors=True)
            raise WebError(
                f"'{shown(name)}' is not made within {_LONGEST:g} s: try again"
            ) from late
    if done.returncode:
        raise WebError(one_line(done.stderr).removeprefix("xtdrone: ") or "it could not be made")
    return place, done.stdout
