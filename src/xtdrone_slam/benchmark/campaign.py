"""Executes campaigns; interrupted ones resume.

Runs are scheduled by Ray on this machine or a cluster, or run serially without it. By default a run
reserves all cores of its machine, so that runs do not disturb each other's measurements.
"""

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from xtdrone_campaign.cluster import RayRunner
from xtdrone_core.runs.parent import tied

from ..datasets.dataset import Dataset
from ..errors import SlamError
from ..evaluation import results
from ..evaluation.verdict import shortfall
from ..flight.options import FlightOptions
from . import adapters, runner
from .channel import Channel
from .plan import Campaign, Conditions, Job

# Called with pairs processed, all pairs if known, and a text.
Progress = Callable[[int, int | None, str], object]


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
        "stereo_pairs" if dataset.has_pairs else "scans": len(dataset),
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
