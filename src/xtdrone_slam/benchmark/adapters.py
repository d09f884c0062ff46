"""Adapters of SLAM systems, read from adapter.yaml."""

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from xtdrone_core import files, registry
from xtdrone_core.errors import ScenarioError, XtdroneError, shown, unknown_name
from xtdrone_core.scenario.arguments import Argument
from xtdrone_core.scenario.options import Option, checked, number

from ..errors import SlamError
from . import link

_DECLARES = "default", "meaning", "unit", "minimum", "maximum"  # keys of a declared parameter


@dataclass(frozen=True)
class Adapter:
    """The contents of an adapter.yaml: how to install and start a system."""

    name: str
    command: tuple[str, ...]
    description: str
    deterministic: bool
    parameters: dict[str, Any]  # value by name, passed as --name value
    inputs: tuple[str, ...] = ("stereo",)  # names of link.INPUTS
    requirements: tuple[str, ...] = ()  # pip requirements of its own environment
    install: tuple[str, ...] = ()  # command to run after pip
    planar: bool = False  # its poses have no height
    folder: str = ""  # folder of the adapter.yaml
    declared: dict[str, Argument] = field(default_factory=dict)  # parameters by name

    @property
    def takes_scans(self) -> bool:
        """Whether a frame of the system is a lidar's scan; else it is a stereo pair."""
        return "lidar" in self.inputs

    def fill(self, command: Sequence[str], **placeholders: object) -> list[str]:
        """Replaces the placeholders in a command; `{adapter}` is the adapter's folder.

        Raises:
            SlamError: The command has an unknown placeholder.
        """
        placeholders["adapter"] = self.folder
        try:
            return [word.format(**placeholders) for word in command]
        except (KeyError, IndexError, ValueError) as error:
            raise SlamError(
                f"cannot expand a command of '{self.name}' ({error!r}): placeholders "
                f"are {', '.join(placeholders)}; double other braces"
            ) from error


def folders() -> dict[str, Path]:
    """Returns the folder of each system by its name: in systems/, and in other packages.

    Another package adds one by an entry point of the group xtdrone.slam_systems: a name, and the
    package in whose folder the adapter.yaml lies.
    """
    systems = {}
    for name, entry in registry.entries("xtdrone.slam_systems").items():
        spec = importlib.util.find_spec(entry.value)
        if spec is not None and spec.submodule_search_locations:
            systems[name] = Path(spec.submodule_search_locations[0])
    own = Path(str(resources.files("xtdrone_slam") / "systems"))
    systems.update((path.name, path) for path in own.iterdir() if path.is_dir())
    return {
        name: path for name, path in sorted(systems.items()) if (path / "adapter.yaml").is_file()
    }


def names() -> list[str]:
    """Returns the systems that can be given by their name alone."""
    return list(folders())


def resolve(name: str, base: Path = Path()) -> str:
    """Returns the name of a system, or the absolute path of an adapter's folder.

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
        raise SlamError(unknown_name("system", name, names(), "give a folder with an adapter.yaml"))
    return str(folder)


def load(name: str, /, **parameters: Any) -> Adapter:  # values of YAML or a command line
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
        known = {
            str(key): _argument(str(key), value)
            for key, value in dict(values.get("parameters") or {}).items()
        }
        adapter = Adapter(
            path.parent.name,
            tuple(map(str, values["command"])),
            str(values.get("description", "")),
            bool(values.get("deterministic")),
            {key: argument.default for key, argument in known.items()},
            inputs=tuple(map(str, values.get("inputs", ("stereo",)))),
            requirements=tuple(map(str, values.get("requirements", ()))),
            install=tuple(map(str, values.get("install", ()))),
            planar=bool(values.get("planar")),
            folder=str(path.parent),
            declared=known,
        )
    except (XtdroneError, TypeError, ValueError) as error:
        raise SlamError(
            f"cannot read '{path}': {shown(error)}; it needs a command, as a list of strings"
        ) from error
    for parameter in parameters:
        if parameter not in known:
            raise SlamError(unknown_name(f"parameter of '{adapter.name}'", parameter, known))
        adapter.parameters[parameter] = _checked(
            adapter.name, known[parameter], parameters[parameter]
        )
    for name in adapter.inputs:
        if name not in link.INPUTS:
            raise SlamError(unknown_name(f"input of '{adapter.name}'", name, link.INPUTS))
    if adapter.takes_scans and {"stereo", "depth"} & set(adapter.inputs):
        raise SlamError(
            f"'{adapter.name}' has the inputs {', '.join(adapter.inputs)}: give lidar without "
            "stereo and depth, since a system answers each pair or each scan"
        )
    return adapter


def _argument(name: str, value: object) -> Argument:
    """Reads a parameter of an adapter.yaml: a default, or a mapping with its meaning."""
    if not isinstance(value, dict):
        return Argument(name, Any, value, Option(""))
    given = files.check_keys(value, f"parameter {name}", ["default"])
    for key in given:
        if key not in _DECLARES:
            raise SlamError(unknown_name(f"key of parameter {name}", key, _DECLARES))
    limits = {
        key: number(f"{key} of {name}", given[key])
        for key in ("minimum", "maximum")
        if key in given
    }
    return Argument(
        name,
        type(given["default"]),
        given["default"],
        Option(str(given.get("meaning", "")), unit=str(given.get("unit", "")), **limits),
    )


def _checked(system: str, argument: Argument, value: Any) -> Any:  # value: of argument.kind
    """Converts a value to the type of its declared parameter.

    Raises:
        SlamError: It is not allowed.
    """
    if argument.kind not in (str, int, float, bool):
        return value
    try:
        return checked(
            argument.name,
            argument.kind,
            argument.option,
            str(value) if argument.kind is str else value,
        )
    except ScenarioError as error:
        raise SlamError(f"parameter of '{system}': {error}") from error


def reject_depth(adapter: Adapter) -> None:
    """Refuses a system that needs depth images, for callers that have none.

    Raises:
        SlamError: The system needs depth images.
    """
    if "depth" in adapter.inputs:
        raise SlamError(
            f"'{adapter.name}' needs depth images, which only recordings have: run "
            "xtdrone slam record --vehicle iris_stereo_depth, then xtdrone slam run"
        )
