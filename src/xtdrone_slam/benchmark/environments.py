"""Virtual environments for systems whose packages must not mix with the workspace's."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xtdrone_core.runs.parent import tied
from xtdrone_core.scenario.arguments import rows

from ..errors import SlamError
from . import adapters
from .adapters import Adapter

_MARKER = "installed"  # file in a complete environment, with its pip requirements
_UNREACHABLE = ("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ProxyError")


def root() -> Path:
    """Returns the folder with one environment per system; set by XTDRONE_SYSTEMS."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("XTDRONE_SYSTEMS") or Path(cache) / "xtdrone" / "systems")


def installed(adapter: Adapter) -> bool:
    """Returns whether a system can start: it needs no environment, or has an up-to-date one."""
    try:
        return not adapter.requirements or (
            root() / adapter.name / _MARKER
        ).read_text() == _requirements(adapter)
    except OSError:
        return False


def descriptions() -> dict[str, Any]:
    """Returns what `xtdrone list` says on each system: inputs, parameters, whether it can start."""

    def described(adapter: Adapter) -> str:
        missing = f"; not installed: xtdrone slam install {adapter.name}"
        state = "" if installed(adapter) else missing
        return f"{adapter.description} (input: {', '.join(adapter.inputs)}{state})"

    loaded = {name: adapters.load(name) for name in adapters.folders()}
    return {
        name: {"description": described(adapter), "options": rows(adapter.declared)}
        for name, adapter in loaded.items()
    }


def home(adapter: Adapter) -> Path:
    """Returns the folder of a system's environment.

    Raises:
        SlamError: It is not installed, incomplete, or has other packages than required.
    """
    if not installed(adapter):
        raise SlamError(
            f"the system '{adapter.name}' is not installed, or its packages differ "
            f"from its adapter.yaml: run xtdrone slam install {adapter.name}"
        )
    return root() / adapter.name


def variables() -> dict[str, str]:
    """Returns environment variables with which `{python} -m xtdrone_slam...` finds this package."""
    source = str(Path(__file__).parents[2])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def install(adapter: Adapter, progress: Callable[[str, str], object] | None = None) -> Path:
    """Creates a system's environment, replacing an existing one.

    Args:
        adapter: The system. Its `install` command runs after pip, with `{python}` this interpreter
            and `{home}` the folder of the environment.
        progress: Called with the step and a line of its output; with an empty line at its start.

    Returns:
        The folder of the environment.

    Raises:
        SlamError: The installation failed; an existing environment has been restored.
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


def _make(adapter: Adapter, folder: Path, progress: Callable[[str, str], object]) -> None:
    steps = {
        "environment": [sys.executable, "-m", "venv", str(folder)],
        "packages": [
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--retries",
            "1",
            "--disable-pip-version-check",
            "--no-input",
            *adapter.requirements,
        ],
        "completion": adapter.fill(adapter.install, python=sys.executable, home=folder),
    }
    for step, command in steps.items():
        if not command:
            continue
        progress(step, "")
        own = {**os.environ, "PYTHONPATH": ""} if step == "packages" else variables()
        output: list[str] = []
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=own,
            preexec_fn=tied(),
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                output.append(line.strip())
                progress(step, output[-1])
        if process.returncode:
            raise SlamError(
                f"cannot install '{adapter.name}' into '{folder}', step {step}: "
                f"{failure_reason(output)}"
            )
    (folder / _MARKER).write_text(_requirements(adapter))


def failure_reason(output: list[str]) -> str:
    """Returns the relevant line of a failed step's output."""
    if any(word in line for line in output for word in _UNREACHABLE):
        return (
            "the package index cannot be reached: connect this machine to a network, or set "
            "PIP_NO_INDEX=1 and PIP_FIND_LINKS=FOLDER with downloaded wheels"
        )
    lines = [line for line in output if line.startswith("ERROR")] or list(filter(None, output))
    return lines[-1] if lines else "no message"


def _requirements(adapter: Adapter) -> str:
    return "\n".join(adapter.requirements) + "\n"
