"""Runs a campaign on the terminal: progress, window, report, closing table, exit status."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn

from tqdm import tqdm

from xtdrone_core.errors import MISSED
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.parent import tied

from ..errors import SlamError
from ..evaluation import report, results, tables
from ..evaluation.conventions import MAX_DIFF_S
from ..evaluation.verdict import DEFAULTS, GOOD, Limits
from . import campaign
from .plan import Campaign


def execute(
    plan: Campaign,
    folder: Path | str,
    report_folder: Path | str | None = None,
    gui: bool = False,
    **options: Any,  # those of campaign.execute, each of its own type
) -> int:
    """Executes a campaign and concludes it.

    Args:
        plan: The campaign.
        folder: Run folder.
        report_folder: Folder for a second copy of the report.
        gui: Whether to open a window on the runs.
        **options: Those of campaign.execute.

    Returns:
        The exit status of conclude(), or 1 if a flight or run could not be started.
    """
    with _window(folder) if gui else nullcontext(), _bar(" pairs") as bar:

        def progress(pairs: int, total: int | None, text: str) -> None:
            if total is not None:
                bar.total = total
            bar.set_description(text, refresh=False)
            bar.update(pairs)

        failures = campaign.execute(plan, Path(folder), progress=progress, **options)
    for line in failures[:-1]:
        print(line, file=sys.stderr)
    try:
        (flights,) = evaluate([folder], plan.align, plan.max_diff, plan.limits)
    except SlamError as error:
        raise SlamError(failures[-1] if failures else str(error)) from error
    if failures:
        print(failures[-1], file=sys.stderr)
    command = shlex.join(["xtdrone", *sys.argv[1:]])
    status = conclude(folder, f"SLAM benchmark {plan.name}", flights, command, report_folder)
    return 1 if failures else status


def evaluate(
    folders: Sequence[Path | str],
    align: str = "se3",
    max_diff_s: float = MAX_DIFF_S,
    limits: Limits = DEFAULTS,
) -> list[list[results.Flight]]:
    """Returns the flights of each folder, by results.load, with a progress bar."""
    benchmarks = []
    for folder in folders:
        with _bar(" runs", f"evaluating {Path(folder).name}") as bar:

            def progress(count: int, total: int, bar: "tqdm[NoReturn]" = bar) -> None:
                bar.total = total
                bar.update(count)

            benchmarks.append(results.load(Path(folder), align, max_diff_s, limits, progress))
    return benchmarks


def conclude(
    folder: Path | str,
    title: str,
    flights: list[results.Flight],
    command: str = "",
    report_folder: Path | str | None = None,
) -> int:
    """Writes report and summary.json, and prints the closing table.

    Args:
        folder: Run folder.
        title: Title of the report.
        flights: See results.load.
        command: Command line that produced it, shown in the report.
        report_folder: Folder for a second copy of the report.

    Returns:
        The exit status: 0 if every run is good, else MISSED.

    Raises:
        SlamError: The report cannot be written.
    """
    for target in (folder, report_folder):
        if target is not None:
            report.save(Path(target), title, flights, command)
    run_folder.update_summary(Path(folder), slam=results.summary(flights))
    print(tables.closing(flights))
    print(f"report: {Path(folder) / 'report.html'}\nrun folder: {folder}")
    return 0 if results.worst(flights) == GOOD else MISSED


def _bar(unit: str, text: str = "") -> "tqdm[NoReturn]":
    return tqdm(
        total=0, unit=unit, desc=text, file=sys.stderr, mininterval=0.5, delay=1e-3, disable=None
    )  # in a file or pipe


@contextmanager
def _window(folder: Path | str) -> Iterator[None]:
    """Opens a process with a window on a run folder, within the context."""
    window = subprocess.Popen(
        [sys.executable, "-m", "xtdrone_core.command", "slam", "watch", str(folder)],
        preexec_fn=tied(),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        yield
    finally:
        window.terminate()
        window.wait()
