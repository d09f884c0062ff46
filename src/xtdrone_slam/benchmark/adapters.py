"""Adapters: what an adapter.yaml says of a system under test."""

import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import yaml

from xtdrone_core.errors import unknown_name

from ..errors import SlamError
from . import link


@dataclass(frozen=True)
class Adapter:
    """How to start a system, from its adapter.yaml."""

    name: str
    command: tuple[str, ...]
    description: str
    deterministic: bool
    parameters: dict  # name: value, given as --name value
    inputs: tuple[str, ...] = ("stereo",)  # names of link.INPUTS
    requirements: tuple[str, ...] = ()  # of its own environment, as pip takes them
    install: tuple[str, ...] = ()  # command that completes that environment
    folder: str = ""  # that holds the adapter.yaml

    def fill(self, command, **words) -> list[str]:
        """A command with the words in braces filled in; `{adapter}` is the adapter's folder.

        Raises:
            SlamError: It names another word.
        """
        words["adapter"] = self.folder
        try:
            return [word.format(**words) for word in command]
        except (KeyError, IndexError, ValueError) as error:
            raise SlamError(f"cannot fill in a command of '{self.name}' ({error!r}): braces may "
                            f"name {', '.join(words)}, others are doubled") from error


def names() -> list[str]:
    """Systems that come with the workspace."""
    folder = resources.files("xtdrone_slam") / "systems"
    return sorted(path.name for path in folder.iterdir()
                  if path.is_dir() and (path / "adapter.yaml").is_file())


def locate(name: str, base: Path = Path()) -> str:
    """A system's name as it is, or the absolute path of its folder.

    Args:
        name: Of a system that comes with the workspace, or a folder with an adapter.yaml.
        base: Folder from which a relative path counts.

    Raises:
        SlamError: No such system.
    """
    if name in names():
        return name
    folder = (Path(base) / Path(name).expanduser()).resolve()
    if not (folder / "adapter.yaml").is_file():
        raise SlamError(unknown_name("system", name, names(),
                                     "give a folder with an adapter.yaml"))
    return str(folder)


def load(name: str, /, **parameters) -> Adapter:
    """A system by its name, or by the path of a folder with an adapter.yaml.

    Args:
        **parameters: Instead of those in the file.

    Raises:
        SlamError: No such system or parameter.
    """
    where = locate(name)
    if os.sep not in where:
        where = str(resources.files("xtdrone_slam") / "systems" / where)
    path = Path(where) / "adapter.yaml"
    try:
        values = yaml.safe_load(path.read_text())
        if not isinstance(values["command"], list):
            raise TypeError("the command is no list")
        known = dict(values.get("parameters") or {})
        adapter = Adapter(path.parent.name, tuple(map(str, values["command"])),
                          str(values.get("description", "")), bool(values.get("deterministic")),
                          {**known, **parameters},
                          *(tuple(map(str, values.get(key, usual))) for key, usual in (
                              ("inputs", ("stereo",)), ("requirements", ()), ("install", ()))),
                          str(path.parent))
    except (OSError, KeyError, TypeError, AttributeError, ValueError, yaml.YAMLError) as error:
        said = str(error).splitlines()[0]
        raise SlamError(f"cannot read '{path}': {type(error).__name__} {said}; it needs a "
                        "command, as a list of words") from error
    for parameter in parameters:
        if parameter not in known:
            raise SlamError(unknown_name(f"parameter of '{adapter.name}'", parameter, known))
    for name in adapter.inputs:
        if name not in link.INPUTS:
            raise SlamError(unknown_name(f"input of '{adapter.name}'", name, link.INPUTS))
    return adapter


def refuse_depth(adapter: Adapter) -> None:
    """For who hands on no depth images.

    Raises:
        SlamError: The system needs them.
    """
    if "depth" in adapter.inputs:
        raise SlamError(f"'{adapter.name}' needs depth, which comes from recordings only: xtdrone "
                        "slam record --vehicle iris_stereo_depth, then xtdrone slam run")
