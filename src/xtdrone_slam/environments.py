"""Environments of their own for systems whose packages shall not meet the workspace's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .errors import SlamError


def root() -> Path:
    """Folder with an environment for each system; XTDRONE_SYSTEMS moves it."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("XTDRONE_SYSTEMS") or Path(cache) / "xtdrone" / "systems")


def installed(name: str) -> bool:
    """Whether a system's environment is there and whole."""
    return (root() / name / "installed").is_file()


def python(name: str) -> Path:
    """The interpreter of a system's environment.

    Raises:
        SlamError: It is not installed.
    """
    if not installed(name):
        raise SlamError(f"the system '{name}' is not installed: xtdrone slam install {name}")
    return root() / name / "bin" / "python"


def install(name: str, requirements) -> Path:
    """Makes a system's environment anew, with pip.

    Args:
        name: Of the system.
        requirements: Packages, as pip takes them.

    Returns:
        Its folder.

    Raises:
        SlamError: It cannot be made; what was there before is gone then.
    """
    folder = root() / name
    shutil.rmtree(folder, ignore_errors=True)
    for command in ([sys.executable, "-m", "venv", str(folder)],
                    [str(folder / "bin" / "python"), "-m", "pip", "install",
                     "--disable-pip-version-check", "--no-input", *requirements]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
            errors = [line for line in lines if line.startswith("ERROR")] or lines
            raise SlamError(f"cannot install '{name}' into '{folder}': "
                            f"{errors[-1] if errors else 'no message'}")
    (folder / "installed").write_text("\n".join(requirements) + "\n")
    return folder
