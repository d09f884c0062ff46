"""Peers of the benchmarks, each in a virtual environment of its own in .setup/."""

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

_SETUP = Path(__file__).resolve().parents[1] / ".setup"


def python_with(requirement: str, beside: bool = False) -> Path | None:
    """The interpreter of an environment with a package, made where there is none.

    Args:
        requirement: name==version, or name[extra]==version.
        beside: Whether it also sees the packages of this environment, such as PyTorch, which
            would be another gigabyte.

    Returns:
        None, after a line on standard error, if it cannot be installed.
    """
    folder = _SETUP / re.sub(r"\W+", "_", requirement.partition("==")[0]).rstrip("_")
    python = folder / "bin" / "python"
    if not python.exists():
        _SETUP.mkdir(exist_ok=True)
        if not _make(folder, python, requirement, beside):
            print(
                f"{requirement} cannot be installed into {folder}: its rows are left out",
                file=sys.stderr,
            )
            return None
    return python


def _make(folder: Path, python: Path, requirement: str, beside: bool) -> bool:
    """Whether an environment with the package could be made."""
    if subprocess.run([sys.executable, "-m", "venv", folder]).returncode:
        return False
    if beside:  # after its own packages, and pip installs only what is missing in both
        own = sysconfig.get_path("purelib", "posix_prefix", {"base": str(folder)})
        Path(own, "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return not subprocess.run([python, "-m", "pip", "install", "-q", requirement]).returncode


def answer_of(python: Path, script: str, *args: str, task: Any = None) -> Any:
    """What a script of this folder prints as JSON, in its last line.

    Args:
        python: Its interpreter.
        script: Its name.
        args: Of its command line.
        task: Goes to its standard input as JSON.

    Returns:
        None, after a line on standard error, if it fails.
    """
    done = subprocess.run(
        [python, Path(__file__).with_name(script), *args],
        input=json.dumps(task),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"{script} failed: {reason}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])
