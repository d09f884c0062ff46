"""Adapters of systems under test, read from adapter.yaml."""

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from xtdrone_core import files, registry
from xtdrone_core.errors import XtdroneError, shown, unknown_name

from ..errors import SlamError
from . import link


@dataclass(frozen=True)
class Adapter:
    """The contents of an adapter.yaml: how to install and start a system."""

    name: str
    command: tuple[str, ...]
    description: str
    deterministic: bool
    parameters: dict  # name: value, passed as --name value
    inputs: tuple[str, ...] = ("stereo",)  # names of link.INPUTS
    requirements: tuple[str, ...] = ()  # pip requirements of its own environment
    install: tuple[str, ...] = ()  # command to run after pip
    folder: str = ""  # of the adapter.yaml

    def fill(self, command: Sequence[str], **placeholders: Any) -> list[str]:
        """Replaces the placeholders in a command; `{adapter}` is the adapter's folder.

        Raises:
            SlamError: The command has an unknown placeholder.
        """
        placeholders["adapter"] = self.folder
        try:
            return [word.format(**placeholders) for word in command]
        except (KeyError, IndexError, ValueError) as error:
            raise SlamError(f"cannot expand a command of '{self.name}' ({error!r}): placeholders "
                            f"are {', '.join(placeholders)}; double other braces") from error


def folders() -> dict[str, Path]:
    """Folder of each system by its name: those in systems/, and those of other packages.

    Another package adds one by an entry point of the group xtdrone.slam_systems: a name, and the
    package in whose folder the adapter.yaml lies.
    """
    found = {}
    for name, entry in registry.entries("xtdrone.slam_systems").items():
        spec = importlib.util.find_spec(entry.value)
        if spec is not None and spec.submodule_search_locations:
            found[name] = Path(spec.submodule_search_locations[0])
    own = Path(str(resources.files("xtdrone_slam") / "systems"))
    found.update((path.name, path) for path in own.iterdir() if path.is_dir())
    return {name: path for name, path in sorted(found.items())
            if (path / "adapter.yaml").is_file()}


def names() -> list[str]:
    """Systems that can be given by their name alone."""
    return list(folders())


def descriptions() -> dict[str, str]:
    """A line on each system, for `xtdrone list`."""
    return {name: load(name).description for name in folders()}


def resolve(name: str, base: Path = Path()) -> str:
    """The name of a system in the workspace, or the absolute path of an adapter's folder.

    Args:
        name: A system's name, or a folder with an adapter.yaml.
        base: Folder to which a relative path refers.

    Raises:
        SlamError: No such system.
    """
    if name in names():
        return name
    folder = Path(os.path.realpath(Path(base) / os.path.expanduser(name)))
    if not files.is_file(folder / "adapter.yaml"):
        raise SlamError(unknown_name("system", name, names(),
                                     "give a folder with an adapter.yaml"))
    return str(folder)


def load(name: str, /, **parameters: Any) -> Adapter:
    """Reads the adapter of a system.

    Args:
        name: A system's name, or a folder with an adapter.yaml.
        **parameters: Override those in the file.

    Raises:
        SlamError: No such system or parameter.
    """
    folder = resolve(name)
    if os.sep not in folder:
        folder = str(folders()[folder])
    path = Path(folder) / "adapter.yaml"
    try:
        values = files.check_keys(files.read_yaml(path, "adapter"), "the adapter", ["command"])
        for key in ("command", "inputs", "requirements", "install"):
            if not isinstance(values.get(key, []), list):
                raise TypeError(f"{key} is not a list")
        known = dict(values.get("parameters") or {})
        adapter = Adapter(path.parent.name, tuple(map(str, values["command"])),
                          str(values.get("description", "")), bool(values.get("deterministic")),
                          {**known, **parameters},
                          *(tuple(map(str, values.get(key, usual))) for key, usual in (
                              ("inputs", ("stereo",)), ("requirements", ()), ("install", ()))),
                          str(path.parent))
    except (XtdroneError, TypeError, ValueError) as error:
        raise SlamError(f"cannot read '{path}': {shown(error)}; it needs a command, as a list of "
                        "strings") from error
    for parameter in parameters:
        if parameter not in known:
            raise SlamError(unknown_name(f"parameter of '{adapter.name}'", parameter, known))
    for name in adapter.inputs:
        if name not in link.INPUTS:
            raise SlamError(unknown_name(f"input of '{adapter.name}'", name, link.INPUTS))
    return adapter


def reject_depth(adapter: Adapter) -> None:
    """For callers that provide no depth images.

    Raises:
        SlamError: The system needs depth images.
    """
    if "depth" in adapter.inputs:
        raise SlamError(f"'{adapter.name}' needs depth images, which only recordings have: run "
                        "xtdrone slam record --vehicle iris_stereo_depth, then xtdrone slam run")
