"""Campaigns: systems x worlds x seeds x parameters from a YAML file; interrupted ones resume.

Runs are scheduled by Ray on this machine or a cluster, or run serially without it. By default a run
reserves all cores of its machine, so that runs do not disturb each other's measurements.
"""

import contextlib
import functools
import itertools
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xtdrone_campaign.cluster import RayRunner
from xtdrone_core import files
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.parent import tied

from ..datasets.dataset import Dataset
from ..errors import SlamError
from ..evaluation import results
from ..evaluation.metrics import ALIGNMENTS, MAX_DIFF_S
from ..evaluation.verdict import DEFAULTS, Limits, parse_assignments, shortfall
from ..flight.options import FlightOptions
from . import adapters, runner
from .channel import Channel

_LISTS = {
    "worlds": "world",
    "trajectories": "trajectory",
    "seeds": "seed",
    "light": "light",
    "texture": "texture",
}  # key of a campaign: field of FlightOptions


# Called with pairs processed, all pairs if known, and a text.
Progress = Callable[[int, int | None, str], object]


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
_MAX_SPEED = 1000.0  # of playback, seconds of the recording per second; also of max_diff [s]


@dataclass(frozen=True)
class Conditions:
    """A flight and the image link to the system."""

    name: str  # folder name
    options: FlightOptions | None  # of a flight to record; None: a dataset is given
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
        | {"systems", "datasets", "bandwidth", "loss", "gps", "vehicle", "limits"}
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


def execute(
    campaign: Campaign,
    folder: Path,
    serial: bool = False,
    address: str | None = None,
    cores: int | None = None,
    retry: bool = False,
    progress: Progress | None = None,
) -> list[str]:
    """Executes all runs that are not finished yet.

    Args:
        campaign: The campaign.
        folder: Run folder; with `address`, shared by all machines.
        serial: Whether to run serially, without Ray.
        address: Address of a Ray cluster; None: this machine.
        cores: Cores reserved by a run; None: all of this machine.
        retry: Whether to repeat runs that failed or are incomplete.
        progress: Called as progress(pairs, total, text) while pairs are processed.

    Returns:
        Error messages of flights that could not be recorded and runs that could not be started.
        Runs that failed are not among them; their outcomes give the reason.

    Raises:
        SlamError: Ray is not installed or not reachable.
    """
    folder = Path(folder).absolute()
    report: Progress = progress or (lambda pairs, total, text: None)
    failures: list[str] = []
    ready: dict[str, Dataset] = {}
    for conditions in campaign.conditions:
        try:
            ready[conditions.name] = _prepare(folder, conditions, campaign, report)
        except SlamError as error:
            failures.append(f"{conditions.name}: {error}")
    jobs = [
        (job, ready[job.conditions.name])
        for job in campaign.jobs()
        if job.conditions.name in ready and not _done(folder, job, campaign, retry)
    ]
    total = sum(len(dataset) for _, dataset in jobs)

    def step(pairs: int, text: str) -> None:
        report(pairs, total, text)

    if serial:
        return failures + _run_serially(jobs, folder, campaign, step)
    return failures + _run_by_ray(jobs, folder, campaign, step, address, cores)


def run_job(
    job: Job,
    dataset: Path,
    folder: Path,
    speed: float,
    progress: Callable[[], object] | None = None,
) -> str:
    """Executes one run; returns an error message if it could not be done, else an empty string."""
    adapter = adapters.load(job.system.name, **job.system.parameters)
    path = results.run_path(folder, job.conditions.name, job.system.label, job.number)
    channel = Channel(job.conditions.bandwidth, job.conditions.loss, seed=job.number)
    try:
        outcome = runner.run(
            adapter, Dataset(dataset), path, speed, progress=progress, channel=channel
        )
    except SlamError as error:
        return f"{job.conditions.name}, {job.system.label}, run {job.number}: {error}"
    if results.read_outcome(path) is None:
        return f"{job.conditions.name}, {job.system.label}, run {job.number}: {outcome.reason}"
    return ""


_Jobs = list[tuple[Job, Dataset]]


def _run_serially(
    jobs: _Jobs, folder: Path, campaign: Campaign, progress: Callable[[int, str], object]
) -> list[str]:
    failures = []
    for job, dataset in jobs:
        text = f"{job.system.label}, {job.conditions.name}, run {job.number}"
        step = functools.partial(progress, 1, text)
        failures.append(run_job(job, dataset.folder, folder, campaign.speed, step))
    return [line for line in failures if line]


def _run_by_ray(
    jobs: _Jobs,
    folder: Path,
    campaign: Campaign,
    progress: Callable[[int, str], object],
    address: str | None,
    cores: int | None,
) -> list[str]:
    runner = RayRunner(
        _run_task,
        address,
        (os.cpu_count() or 1) if cores is None else cores,
        error=SlamError,
        instead="give --serial",
    )
    tasks = [(job, dataset.folder.absolute(), folder, campaign.speed) for job, dataset in jobs]
    failures = []
    with contextlib.closing(runner.run(tasks)) as results_of_runs:
        for done in results_of_runs:
            job, dataset = jobs[done.index]
            text = f"{job.system.label}, {job.conditions.name}, run {job.number}"
            failures.append(
                f"{job.conditions.name}, {job.system.label}, run {job.number}: {done.error}"
                if done.error
                else done.value
            )
            progress(len(dataset), text)
    return [line for line in failures if line]


def _run_task(task: tuple[Job, Path, Path, float]) -> str:
    return run_job(*task)


def _done(folder: Path, job: Job, campaign: Campaign, retry: bool) -> bool:
    """Returns whether a run is finished with the same parameters and speed."""
    outcome = results.read_outcome(
        results.run_path(folder, job.conditions.name, job.system.label, job.number)
    )
    adapter = adapters.load(job.system.name, **job.system.parameters)
    return (
        outcome is not None
        and outcome.get("parameters") == adapter.parameters
        and outcome.get("speed") == campaign.speed
        and not (retry and (outcome["reason"] or shortfall(outcome, campaign.limits)))
    )


def _prepare(folder: Path, conditions: Conditions, campaign: Campaign, report: Progress) -> Dataset:
    """Returns the dataset of a flight, recorded if necessary; writes its truth and metadata."""
    options, path = conditions.options, conditions.dataset
    if path is None:
        assert options is not None  # one of both is given
        path = _recording(folder, options)
        if path is None:
            report(0, None, f"recording {options.label}")
            path = _record(folder, options)
    dataset = Dataset(path)
    metadata = {
        **(options.metadata() if options else {"dataset": conditions.name}),
        "bandwidth": conditions.bandwidth,
        "loss": conditions.loss,
        "stereo_pairs": len(dataset),
        "duration_s": round(float(dataset.times_us[-1] - dataset.times_us[0]) * 1e-6, 2),
        "runs": campaign.runs,
        "speed": campaign.speed,
    }
    results.write_flight(folder, conditions.name, dataset.truth(), metadata)
    return dataset


def _flights(folder: Path) -> Path:
    return Path(folder) / "recordings"


def _recording(folder: Path, options: FlightOptions) -> Path | None:
    """Returns the newest complete recording of a flight, or None."""
    for path in sorted(_flights(folder).glob(f"{options.label}*"), reverse=True):
        if (path / "dataset" / "groundtruth.kitti").exists() and options.matches(path):
            return path / "dataset"
    return None


def _record(folder: Path, options: FlightOptions) -> Path:
    target = _flights(folder)
    target.mkdir(parents=True, exist_ok=True)
    log = target / f"{options.label}.log"
    with open(log, "w") as file:
        status = subprocess.run(
            [
                sys.executable,
                "-m",
                "xtdrone_core.command",
                "slam",
                "record",
                *options.arguments(),
                "--name",
                options.label,
            ],
            env={
                **os.environ,
                "XTDRONE_RUNS": str(target),
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=tied(),
        ).returncode
    path = _recording(folder, options)
    if status or path is None:
        lines = log.read_text(errors="replace").replace("\r", "\n").strip().splitlines()
        raise SlamError(
            f"the flight was not recorded (status {status}): {lines[-1] if lines else 'no output'}"
        )
    return path


def _choices(item: Any, base: Path) -> list[SystemChoice]:
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
    if "datasets" not in data or keys:
        fixed = {key: data[key] for key in ("gps", "vehicle") if key in data}
        for values in itertools.product(*(_list(data[key]) for key in keys)):
            options = FlightOptions(
                **fixed, **{_LISTS[key]: value for key, value in zip(keys, values)}
            )
            flights.append((options.label, options, None))
    for (name, options, path), (bandwidth, loss) in itertools.product(flights, channels):
        suffix = (f"_{bandwidth:g}MBps" if bandwidth else "") + (f"_loss{loss:g}" if loss else "")
        yield Conditions(name + suffix, options, path, float(bandwidth), float(loss))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
