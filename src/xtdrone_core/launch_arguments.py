"""Refuses launch arguments that no launch file has, which roslaunch passes over without a word."""

import os
from pathlib import Path
from xml.etree import ElementTree

from .errors import ScenarioError, unknown_name


def check() -> None:
    """Looks at the command line of the roslaunch that started this process, if one did.

    Raises:
        ScenarioError: It gives an argument that its launch file does not have.
    """
    place = Path(f"/proc/{os.getppid()}")
    try:
        words = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
        folder = (place / "cwd").resolve()
    except OSError:  # it has ended, or the system has no /proc
        return
    if any(Path(word).name == "roslaunch" for word in words[:2]):
        check_words(words, folder)


def check_words(words: list[str], folder: Path) -> None:
    """The same for the words of a command line and the folder in which it was given.

    Raises:
        ScenarioError: As check().
    """
    given = [word.partition(":=")[0] for word in words if ":=" in word]
    files = [folder / word for word in words if word.endswith((".launch", ".xml"))]
    known: set[str] = set()
    for file in files:
        found = settable(file)
        if found is None:
            return
        known |= found
    for name in given:
        if files and not name.startswith("_") and name not in known:
            raise ScenarioError(unknown_name(f"argument of {files[0].name}", name, known))


def settable(file: Path) -> set[str] | None:
    """Names that can be given to a launch file, with those that it hands on to others.

    Returns:
        The names, or None where a file that it hands them on to cannot be read.
    """
    try:
        tree = ElementTree.parse(file).getroot()
    except (OSError, ElementTree.ParseError):
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
