"""Rejects launch arguments that the launch file does not declare; roslaunch ignores them."""

import os
from pathlib import Path

from .. import files
from ..errors import ScenarioError, XtdroneError, unknown_name


def check() -> None:
    """Checks the command line of the roslaunch that started this process, if any.

    Raises:
        ScenarioError: It gives an argument that its launch file does not have.
    """
    process = Path(f"/proc/{os.getppid()}")
    try:
        arguments = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        folder = (process / "cwd").resolve()
    except OSError:  # it has ended, or the system has no /proc
        return
    if any(Path(argument).name == "roslaunch" for argument in arguments[:2]):
        check_arguments(arguments, folder)


def check_arguments(arguments: list[str], folder: Path) -> None:
    """Checks a command line, given in a folder.

    Raises:
        ScenarioError: As check().
    """
    given = [argument.partition(":=")[0] for argument in arguments if ":=" in argument]
    files = [folder / argument for argument in arguments if argument.endswith((".launch", ".xml"))]
    known: set[str] = set()
    for file in files:
        inner = settable(file)
        if inner is None:
            return
        known |= inner
    for name in given:
        if files and not name.startswith("_") and name not in known:
            raise ScenarioError(unknown_name(f"argument of {files[0].name}", name, known))


def settable(file: Path) -> set[str] | None:
    """Names that can be given to a launch file, with those that it hands on to others.

    Returns:
        The names, or None where a file that it hands them on to cannot be read.
    """
    try:
        tree = files.read_xml(file)
    except XtdroneError:
        return None
    names = {arg.get("name", "") for arg in tree.findall("arg") if arg.get("value") is None}
    for include in tree.iter("include"):
        if include.get("pass_all_args", "").lower() in ("true", "1"):
            path = include.get("file", "").replace("$(dirname)", str(file.parent))
            inner = None if "$(" in path else settable(Path(path))
            if inner is None:
                return None
            names |= inner
    return names
