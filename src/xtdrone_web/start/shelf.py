"""The folder of saved scenarios, as YAML and as launch files, and of the user's own models."""

import itertools
import os
import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from xtdrone_core import Scenario, XtdroneError, files
from xtdrone_core.errors import shown
from xtdrone_core.runs.run_folder import check_name

from ..errors import WebError
from . import launch_file
from .form import Plan, read, written

SUFFIXES = {"yaml": ".yaml", "launch": ".launch"}
_COMMAND = re.compile(r"# xtdrone fly (.+)")
_LARGEST = 4 * files.MB


class Shelf:
    """A folder of saved scenarios."""

    def __init__(self, folder: Path):
        """Takes the folder, which is made when something is saved."""
        self.folder = folder

    def path(self, name: str, kind: str = "yaml") -> Path:
        """Returns the file of a name.

        Raises:
            XtdroneError: It is no name.
        """
        if kind not in SUFFIXES:
            raise WebError(
                f"'{shown(kind)}' is no kind of file: choose one of {', '.join(SUFFIXES)}"
            )
        check_name(name)
        return self.folder / f"{name}{SUFFIXES[kind]}"

    def names(self) -> list[dict[str, Any]]:
        """Returns name, kinds and time of each saved scenario, the newest first."""
        entries: dict[str, dict[str, Any]] = {}
        for kind, suffix in SUFFIXES.items():
            for path in self.folder.glob(f"*{suffix}"):
                if path.is_file() and not path.is_symlink():
                    entry = entries.setdefault(
                        path.stem, {"name": path.stem, "kinds": [], "at": 0.0}
                    )
                    entry["kinds"].append(kind)
                    entry["at"] = max(entry["at"], path.stat().st_mtime)
        return sorted(entries.values(), key=lambda entry: -entry["at"])

    def save(self, name: str, kind: str, plan: Plan) -> Path:
        """Writes a plan; one of the same name is replaced.

        Raises:
            XtdroneError: It is no name, or cannot be written.
        """
        path = self.path(name, kind)
        text = yaml_text(plan) if kind == "yaml" else launch_file.text(plan, name)
        write(path, text.encode())
        return path

    def load(self, name: str) -> Plan:
        """Returns the plan of a name: of its YAML, or else of its launch file.

        Raises:
            XtdroneError: There is none, or it is no scenario.
        """
        for kind in SUFFIXES:
            path = self.path(name, kind)
            if files.is_file(path):
                return load_yaml(path) if kind == "yaml" else launch_file.load(path)
        raise WebError(f"no scenario '{shown(name)}' is saved in '{self.folder}'")

    def take(self, name: str, kind: str, data: bytes) -> Plan:
        """Keeps an uploaded file under a name, if it is a scenario.

        Raises:
            XtdroneError: It is none.
        """
        path = self.path(name, kind)
        half = path.with_name(f".{path.name}")
        write(half, data)
        try:
            plan = load_yaml(half) if kind == "yaml" else launch_file.load(half)
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)
        return plan

    def delete(self, name: str) -> None:
        """Removes a name's files.

        Raises:
            XtdroneError: There is none.
        """
        paths = [path for kind in SUFFIXES if files.is_file(path := self.path(name, kind))]
        if not paths:
            raise WebError(f"no scenario '{shown(name)}' is saved in '{self.folder}'")
        for path in paths:
            path.unlink()


def write(path: Path, data: bytes) -> None:
    """Writes a file at once or not at all.

    Raises:
        WebError: The system refuses it.
    """
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(data)
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise WebError(f"cannot write '{path}': {error.strerror}") from error


def yaml_text(plan: Plan) -> str:
    """Returns the YAML that --scenario reads; an Agent is in its first comment."""
    form = written(plan)
    data = yaml.safe_dump(
        {"vehicles": form["vehicles"], **form["options"]},
        sort_keys=False,
        default_flow_style=None,
        width=96,
    )
    if not plan.agent:
        return f"# xtdrone sim --scenario THIS_FILE\n{data}"
    words = [
        plan.agent,
        *(f"--set {shlex.quote(f'{name}={value}')}" for name, value in plan.settings.items()),
    ]
    return f"# xtdrone fly {' '.join(words)} --scenario THIS_FILE\n{data}"


def load_yaml(path: Path) -> Plan:
    """Returns the plan of a scenario's YAML, and of the command in its first line.

    Raises:
        XtdroneError: It is no scenario.
    """
    text = files.read_text(path, "scenario", _LARGEST)
    scenario = Scenario.load(path)
    match = _COMMAND.fullmatch(text.partition("\n")[0])
    agent, settings = "", {}
    if match:
        try:
            agent, *words = shlex.split(match[1])
            settings = dict(
                word.split("=", 1)
                for before, word in itertools.pairwise(words)
                if before == "--set"
            )
        except ValueError as error:
            raise WebError(f"cannot read the command in '{path.name}': {error}") from error
    form = written(Plan(scenario, agent, settings))
    try:
        return read(form)
    except XtdroneError as error:
        raise WebError(f"'{path.name}': {error}") from error
