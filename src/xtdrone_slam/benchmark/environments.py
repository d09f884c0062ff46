"""Environments of their own for systems whose packages shall not meet the workspace's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ..errors import SlamError
from .adapters import Adapter

_DONE = "installed"  # file in an environment that is whole, with what was asked of pip
_UNREACHABLE = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ProxyError")


def root() -> Path:
    """Folder with an environment for each system; XTDRONE_SYSTEMS moves it."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("XTDRONE_SYSTEMS") or Path(cache) / "xtdrone" / "systems")


def installed(adapter: Adapter) -> bool:
    """Whether a system can start: it needs no environment, or its own one is whole and as asked."""
    try:
        return not adapter.requirements \
            or (root() / adapter.name / _DONE).read_text() == _wish(adapter)
    except OSError:
        return False


def home(adapter: Adapter) -> Path:
    """Folder of a system's environment.

    Raises:
        SlamError: It is not installed, not to its end, or with other packages.
    """
    if not installed(adapter):
        raise SlamError(f"the system '{adapter.name}' is not installed, or with other packages "
                        f"than its adapter.yaml asks for: xtdrone slam install {adapter.name}")
    return root() / adapter.name


def variables() -> dict:
    """Environment variables under which `{python} -m xtdrone_slam...` finds this package."""
    source = str(Path(__file__).parents[2])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def install(adapter: Adapter, progress=None) -> Path:
    """Makes a system's environment anew.

    Args:
        adapter: The system. After pip its `install` completes the environment; `{python}` in it is
            this interpreter and `{home}` the environment's folder.
        progress: Called with a step and a line of what it says; an empty one begins the step.

    Returns:
        Its folder.

    Raises:
        SlamError: It cannot be made; what was there before is there again.
    """
    folder = root() / adapter.name
    before = folder.with_name(f"{adapter.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    try:
        if folder.exists():
            folder.rename(before)
        _make(adapter, folder, progress or (lambda step, line: None))
    except BaseException:  # Ctrl-C, too
        shutil.rmtree(folder, ignore_errors=True)
        if before.exists():
            before.rename(folder)
        raise
    shutil.rmtree(before, ignore_errors=True)
    return folder


def _make(adapter, folder, progress):
    steps = {"environment": [sys.executable, "-m", "venv", str(folder)],
             "packages": [str(folder / "bin" / "python"), "-m", "pip", "install", "--retries", "1",
                          "--disable-pip-version-check", "--no-input", *adapter.requirements],
             "completion": adapter.fill(adapter.install, python=sys.executable, home=folder)}
    for step, command in steps.items():
        if not command:
            continue
        progress(step, "")
        own = {**os.environ, "PYTHONPATH": ""} if step == "packages" else variables()
        said = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", env=own) as process:
            for line in process.stdout:
                said.append(line.strip())
                progress(step, said[-1])
        if process.returncode:
            raise SlamError(f"cannot install '{adapter.name}' into '{folder}', step {step}: "
                            f"{_why(said)}")
    (folder / _DONE).write_text(_wish(adapter))


def _why(said):
    """One line of what a step that failed has said."""
    if any(word in line for line in said for word in _UNREACHABLE):
        return ("the package index cannot be reached: connect this machine to a network, or set "
                "PIP_NO_INDEX=1 and PIP_FIND_LINKS=FOLDER with the wheels of another one")
    lines = [line for line in said if line.startswith("ERROR")] or list(filter(None, said))
    return lines[-1] if lines else "no message"


def _wish(adapter):
    return "\n".join(adapter.requirements) + "\n"
