"""Registered classes by name; `module:Class` and `FILE.py:Class` name others, or other objects.

Names are entry points. Those of the workspace are in pyproject.toml; another package adds its own:

    [project.entry-points."xtdrone.engines"]
    bullet = "my_package.engine:BulletEngine"

In a checkout they are read from its pyproject.toml, so that a new name needs no reinstallation.
"""

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import ScenarioError, one_line, shown, unknown_name

_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")  # module:Class
_IN_FILE = re.compile(r"(.+\.py):([A-Za-z_]\w*)")  # FILE.py:Class
_OWN = "xtdrone"  # our distribution
_CHECKOUT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@dataclass(frozen=True)
class Group:
    """Classes of one kind, by name."""

    what: str  # kind of thing in messages, for example "engine"
    entry_points: str  # the group's name in pyproject.toml
    # module:Class of its protocol, whose methods a class must have, or of the base class that it
    # must inherit from; loaded with the first class.
    contract: str

    def table(self) -> Mapping[str, metadata.EntryPoint]:
        """The entry points by name."""
        return entries(self.entry_points)

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self.table())

    def check(self, name: str) -> None:
        """Rejects a name that is neither registered nor module:Class or FILE.py:Class.

        Raises:
            ScenarioError: The name is neither.
        """
        if not is_own(name) and name not in self.table():
            advice = "name a class of your own as module:Class or FILE.py:Class"
            raise ScenarioError(unknown_name(self.what, name, self.table(), advice))

    def load(self, name: str) -> Any:  # a class that the contract describes
        """Loads the class of a name, of module:Class or of FILE.py:Class.

        Raises:
            ScenarioError: No such name, module or class, or the class is no such part.
        """
        self.check(name)
        entry = self.table().get(name)
        loaded = load_own(self.what, name, "class") if entry is None else _loaded(self.what, entry)
        lacking = self._lacking(loaded)
        if lacking:
            raise ScenarioError(
                f"{self.what} '{shown(name)}' {lacking}: see {self.contract.replace(':', '.')}"
            )
        return loaded

    def _lacking(self, loaded: object) -> str:
        """Why something is not of this kind, or an empty string."""
        if not isinstance(loaded, type) or getattr(loaded, "_is_protocol", False):
            return "is not a class that can be made"
        module, _, name = self.contract.partition(":")
        contract = getattr(importlib.import_module(module), name)
        if not getattr(contract, "_is_protocol", False):
            return "" if issubclass(loaded, contract) else f"does not inherit from {name}"
        methods = [
            name
            for name, member in vars(contract).items()
            if not name.startswith("_") and (callable(member) or isinstance(member, classmethod))
        ]
        missing = [f"{name}()" for name in methods if not callable(getattr(loaded, name, None))]
        return f"has no {', '.join(missing)}" if missing else ""

    def descriptions(self) -> dict[str, str]:
        """The first line of the docstring of each class, or why it cannot be loaded."""
        lines = {}
        for name in self.names():
            try:
                text = inspect.getdoc(self.load(name)) or ""
            except ScenarioError as error:
                text = str(error.__cause__ or error)
            lines[name] = text.split("\n\n")[0].replace("\n", " ")
        return lines


def is_own(name: str) -> bool:
    """Whether a name is of the form module:NAME or FILE.py:NAME, for what is not registered."""
    return any(form.fullmatch(name) for form in (_CLASS, _IN_FILE))


def load_own(what: str, name: str, kind: str = "") -> Any:  # whatever has that name
    """Loads what module:NAME or FILE.py:NAME names.

    Args:
        what: Kind of thing in messages, for example "task".
        name: module:NAME or FILE.py:NAME.
        kind: What the module or file has to hold; empty: the kind of thing.

    Raises:
        ScenarioError: No such module or file, it fails, or it has no such name.
    """
    in_file = _IN_FILE.fullmatch(name)
    if in_file is None:
        return _loaded(what, metadata.EntryPoint(name, name, ""), kind or what)
    path = Path(in_file[1]).expanduser()
    given = f"cannot load {what} '{shown(name)}'"
    if not path.is_file():
        raise ScenarioError(f"{given}: there is no Python file '{shown(path)}'")
    try:
        module = _module_of(path.resolve(), path.stat().st_mtime_ns)
    except (Exception, SystemExit) as error:  # raised by the user's file as it is run
        raise ScenarioError(f"{given}: {type(error).__name__} {one_line(str(error))}") from error
    try:
        return getattr(module, in_file[2])
    except AttributeError as error:
        raise ScenarioError(f"{given}: the file defines no '{in_file[2]}'") from error


@functools.cache
def _module_of(path: Path, changed_ns: int) -> ModuleType:
    """Runs a Python file as a module of its name; once, as long as it is not changed."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, path  # its name ends with .py
    module = module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # Numba asks for the module of what it compiles
    spec.loader.exec_module(module)
    return module


def _loaded(what: str, entry: metadata.EntryPoint, kind: str = "class") -> Any:  # as of load_own()
    """What an entry point names; `kind`: class, or what else its modules hold."""
    try:
        return entry.load()
    except (ImportError, AttributeError, ValueError) as error:
        name = kind.capitalize() if kind == "class" else kind.upper()
        raise ScenarioError(
            f"cannot load {what} '{shown(entry.name)}': {error}; a {kind} of your own is named "
            f"FILE.py:{name}, or module:{name} with its folder on PYTHONPATH"
        ) from error
    except (Exception, SystemExit) as error:  # raised by a module of the user as it is imported
        raise ScenarioError(
            f"cannot load {what} '{shown(entry.name)}': {type(error).__name__} {error}"
        ) from error


ENGINES = Group("engine", "xtdrone.engines", "xtdrone_core.contracts:Engine")
AUTOPILOTS = Group("autopilot", "xtdrone.autopilots", "xtdrone_core.contracts:Autopilot")
AGENTS = Group("agent", "xtdrone.agents", "xtdrone_core.contracts:Agent")
ACTUATORS = Group("actuator", "xtdrone.actuators", "xtdrone_core.vehicle:Actuator")
# Declarations that a scenario's options are made of; see scenario/declared.py.
AUTOPILOT_OPTIONS = Group(
    "options of autopilot",
    "xtdrone.autopilot_options",
    "xtdrone_core.scenario.declared:AutopilotOptions",
)
STATIONS = Group("station", "xtdrone.stations", "xtdrone_core.stations:Station")
_COMPLETIONS = "xtdrone.completions"  # functions that return names


def completion(name: str) -> Callable[[], Iterable[str]]:
    """A function that returns the names of an entry point of the group `xtdrone.completions`."""

    def names() -> Iterable[str]:
        entry = entries(_COMPLETIONS).get(name)
        return entry.load()() if entry is not None else ()

    return names


@functools.cache
def entries(group: str) -> dict[str, metadata.EntryPoint]:
    """The entry points of a group by name: other packages', then the workspace's."""
    table = {
        entry.name: entry
        for entry in _installed(tuple(sys.path)).select(group=group)
        if _checkout() is None or entry.dist is None or _name_of(entry.dist) != _OWN
    }
    for name, value in (_checkout() or {}).get(group, {}).items():
        table[name] = metadata.EntryPoint(name, value, group)
    return table


@functools.cache
def _name_of(distribution: metadata.Distribution) -> str:
    """Its name, for which all of its metadata is read."""
    return distribution.name


@functools.cache
def _installed(path: tuple[str, ...]) -> Any:  # EntryPoints; SelectableGroups before Python 3.12
    """The entry points of all packages on a path, which are read once."""
    return metadata.entry_points()


@functools.cache
def _checkout() -> dict[str, dict[str, str]] | None:
    """The workspace's groups, from the checkout of this file; None in an installed copy."""
    try:
        import tomllib
    except ImportError:  # before Python 3.11: as they were when the set-up ran
        return None
    if not _CHECKOUT.is_file():
        return None
    project = tomllib.loads(_CHECKOUT.read_text()).get("project", {})
    groups: dict[str, dict[str, str]] = project.get("entry-points", {})
    return groups if project.get("name") == _OWN else None
