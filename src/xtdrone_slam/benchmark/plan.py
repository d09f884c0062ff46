"""The plan of a campaign: systems x worlds x seeds x parameters, from a YAML file."""

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from xtdrone_core import files
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.runs import run_folder

from ..errors import SlamError
from ..evaluation.conventions import ALIGNMENTS, MAX_DIFF_S
from ..evaluation.verdict import DEFAULTS, Limits, parse_assignments
from ..flight.options import FlightOptions
from . import adapters
from .channel import Channel

_LISTS = {
    "worlds": "world",
    "trajectories": "trajectory",
    "seeds": "seed",
    "light": "light",
    "texture": "texture",
}  # key of a campaign: field of FlightOptions


@dataclass(frozen=True)
class SystemChoice:
    """A system with one set of parameters."""

    name: str  # name of a system, or a folder with an adapter.yaml
    # Parameters that differ from the adapter's.
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Folder name, with the parameters."""
        parts = [Path(self.name).name, *(f"{key}{value}" for key, value in self.parameters.items())]
        return re.sub(r"[^A-Za-z0-9._+-]", "-", "_".join(parts))


_MAX_RUNS = 1000
_MAX_FLIGHTS = 10_000
_MAX_SPEED = 1000.0  # playback, in recorded seconds per second; also limits max_diff [s]


@dataclass(frozen=True)
class Conditions:
    """A flight and the image link to the system."""

    name: str  # folder name
    options: FlightOptions | None  # the flight to record; None: a dataset is given
    dataset: Path | None
    bandwidth: float  # [MB/s], 0: unlimited
    loss: float  # fraction of the pairs


@dataclass(frozen=True)
class Job:
    """One run."""

    conditions: Conditions
    system: SystemChoice
    number: int


@dataclass(frozen=True)
class Campaign:
    """The contents of a campaign file, checked at construction."""

    name: str
    systems: tuple[SystemChoice, ...]
    conditions: tuple[Conditions, ...]
    runs: int = 5
    speed: float = 1.0  # seconds of the recording per second; see runner.run
    align: str = "se3"
    max_diff: float = MAX_DIFF_S  # largest time difference of associated poses [s]
    limits: Limits = DEFAULTS  # what a good run keeps to

    def __post_init__(self) -> None:
        run_folder.check_name(self.name)
        if not isinstance(self.runs, int) or not 1 <= self.runs <= _MAX_RUNS:
            raise SlamError(
                f"{shown(self.runs)} runs are not allowed: give a whole number from 1 "
                f"to {_MAX_RUNS}"
            )
        if not (isinstance(self.speed, (int, float)) and 0 <= self.speed <= _MAX_SPEED):
            raise SlamError(
                f"a speed of {shown(self.speed)} is not allowed: give a positive "
                f"number up to {_MAX_SPEED:g}, or 0 to wait for the system at each pair"
            )
        if not (isinstance(self.max_diff, (int, float)) and 0 <= self.max_diff <= _MAX_SPEED):
            raise SlamError(
                f"a max_diff of {shown(self.max_diff)} is not allowed: give seconds from 0"
            )
        if self.align not in ALIGNMENTS:
            raise SlamError(unknown_name("alignment", self.align, ALIGNMENTS))
        for system in self.systems:
            adapters.load(system.name, **system.parameters)
        for one in self.conditions:
            Channel(one.bandwidth, one.loss)

    def jobs(self) -> list[Job]:
        """Returns all runs, the first of every system first, so that partial results are useful."""
        return [
            Job(conditions, system, number)
            for number in range(1, self.runs + 1)
            for conditions in self.conditions
            for system in self.systems
        ]


def parse_system(name: str, assignments: Iterable[str]) -> SystemChoice:
    """Reads a system with parameters from the command line, each NAME=VALUE with a YAML value.

    Raises:
        SlamError: No such system, or an assignment that cannot be parsed.
    """
    parameters = parse_assignments(assignments, "parameter")
    return SystemChoice(adapters.resolve(name), parameters)


def load(path: Path) -> Campaign:
    """Reads a campaign file.

    Raises:
        SlamError: The file is missing or invalid.
    """
    path = Path(path)
    data = files.read_yaml(path, "campaign", error=SlamError)
    return parse(data, path.stem, path.parent)


def parse(data: dict[str, Any], name: str = "campaign", base: Path = Path()) -> Campaign:
    """Reads a campaign from plain data.

    Args:
        data: As in the file; see docs/slam.md.
        name: Name to use if the data has none.
        base: Folder to which relative paths of datasets and systems refer.

    Raises:
        SlamError: An unknown key or an invalid value.
    """
    plain = {"name", "runs", "speed", "align", "max_diff"}
    allowed = (
        plain
        | set(_LISTS)
        | {"systems", "datasets", "flights", "bandwidth", "loss", "gps", "vehicle", "limits"}
    )
    if not isinstance(data, dict) or not data.get("systems"):
        raise SlamError(
            "a campaign needs systems: write 'systems: [klt]' and 'worlds: [indoor]' "
            "or 'datasets: [FOLDER]'"
        )
    for key in data:
        if key not in allowed:
            raise SlamError(unknown_name("key of a campaign", key, allowed))
    flights = math.prod(len(_list(data.get(key, 0))) for key in (*_LISTS, "bandwidth", "loss"))
    if flights > _MAX_FLIGHTS:
        raise SlamError(f"the campaign has {flights} flights: give at most {_MAX_FLIGHTS}")
    systems = tuple(choice for item in _list(data["systems"]) for choice in _choices(item, base))
    try:
        conditions = tuple(_conditions(data, base))
        limits = DEFAULTS.changed(
            files.check_keys(data.get("limits") or {}, "limits", error=SlamError)
        )
        return Campaign(
            systems=systems,
            conditions=conditions,
            limits=limits,
            **{"name": name, **{key: data[key] for key in plain & set(data)}},
        )
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SlamError(f"a value of the campaign has the wrong type: {shown(error)}") from error


def _choices(item: object, base: Path) -> list[SystemChoice]:
    """Reads the systems of an entry: a name, or a name with lists of parameter values."""
    if isinstance(item, str):
        return [SystemChoice(adapters.resolve(item, base))]
    if not isinstance(item, dict) or set(item) - {"name", "parameters"} or "name" not in item:
        raise SlamError(
            f"cannot read the system {shown(item)}: write a name, or "
            "{name: klt, parameters: {features: [200, 400]}}"
        )
    parameters = files.check_keys(
        item.get("parameters") or {}, "parameters of a system", error=SlamError
    )
    names = list(parameters)
    return [
        SystemChoice(adapters.resolve(str(item["name"]), base), dict(zip(names, values)))
        for values in itertools.product(*(_list(parameters[name]) for name in names))
    ]


def _conditions(data: dict[str, Any], base: Path) -> Iterator[Conditions]:
    channels = list(
        itertools.product(_list(data.get("bandwidth", 0.0)), _list(data.get("loss", 0.0)))
    )
    flights: list[tuple[str, FlightOptions | None, Path | None]] = []
    if "datasets" in data:
        for entry in _list(data["datasets"]):
            path = (Path(base) / Path(str(entry)).expanduser()).resolve()
            name = path.parent.name if path.name == "dataset" else path.name
            flights.append((name, None, path))
    keys = [key for key in _LISTS if key in data]
    fixed: dict[str, Any] = {key: data[key] for key in ("gps", "vehicle") if key in data}
    for entry in _list(data.get("flights", [])):
        given = {**fixed, **_flight(entry)}
        options = FlightOptions(**given)
        flights.append((options.label, options, None))
    if not {"datasets", "flights"} & set(data) or keys:
        for values in itertools.product(*(_list(data[key]) for key in keys)):
            options = FlightOptions(
                **fixed, **{_LISTS[key]: value for key, value in zip(keys, values)}
            )
            flights.append((options.label, options, None))
    for (name, options, path), (bandwidth, loss) in itertools.product(flights, channels):
        suffix = (f"_{bandwidth:g}MBps" if bandwidth else "") + (f"_loss{loss:g}" if loss else "")
        yield Conditions(name + suffix, options, path, float(bandwidth), float(loss))


def _flight(entry: object) -> dict[str, Any]:
    """Returns the options of an entry of `flights`."""
    names = [field.name for field in fields(FlightOptions)]
    values = files.check_keys(entry, "a flight", error=SlamError)
    for name in values:
        if name not in names:
            raise SlamError(unknown_name("option of a flight", name, names))
    return values


def _list(value: Any) -> list[Any]:  # values of YAML
    return value if isinstance(value, list) else [value]
