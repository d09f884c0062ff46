"""Run folders, runs/<name>/: configuration, logs and results of a run.

scenario.yaml, summary.json, truth.bin, events.jsonl, bags/, ulog/<vehicle>/,
console/, plots/. A folder is never overwritten: a second run with the same name gets a
numeric suffix. runs/latest links to the newest run; for instance I > 0 it is runs/latest-I.
"""

import argparse
import contextlib
import difflib
import errno
import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import files
from ..errors import ScenarioError, XtdroneError, shown
from .log_file import LogFile, LogGaps
from .ports import INSTANCES, Ports

_NAME = 200  # characters of a run's name; the system allows 255, and a number may follow
_ENDLESS_US = 1 << 53  # no flight is as long [us]
_SHOWN = 5  # names of runs in a message
SUBFOLDERS = ("bags", "ulog", "console", "plots")
SUMMARY, TRUTH, SCENARIO = "summary.json", "truth.bin", "scenario.yaml"
_SPARE = ".summary.json"  # has the disk space of the next summary
_BLOCK = 4096  # unit in which disk space is given [bytes]
_made: set[Path] = set()  # roots that were not there before this process


def runs_root() -> Path:
    """XTDRONE_RUNS, or runs/ in the current folder where it is unset or empty."""
    return Path(os.environ.get("XTDRONE_RUNS") or "runs").absolute()


def check_name(name: str) -> None:
    """Rejects names that cannot be a run folder's.

    Raises:
        ScenarioError: Such a name.
    """
    if not re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{_NAME - 1}}}", name):
        raise ScenarioError(
            f"name '{shown(name)}' is not a folder name: use letters, digits, '.', "
            f"'_' and '-', at most {_NAME}, the first one a letter or digit"
        )
    if name in map(latest, range(INSTANCES)):
        raise ScenarioError(f"name '{name}' is taken: runs/{name} points at the newest run")


def latest(instance: int) -> str:
    """Name in runs/ of the link to an instance's newest run."""
    return f"latest-{instance}" if instance else "latest"


def newest() -> Path:
    """The newest run of this process's instance."""
    return runs_root() / latest(Ports().instance)


def names() -> list[str]:
    """The runs below runs_root(), the newest first, for messages and tab completion."""
    try:
        runs = [
            (entry.stat().st_mtime, entry.name)
            for entry in os.scandir(runs_root())
            if entry.is_dir(follow_symlinks=False)
        ]
    except OSError:
        return []
    return [name for _, name in sorted(runs, reverse=True)]


def find(run: str) -> Path:
    """The folder of a run.

    Args:
        run: "latest" for the newest run of this process's instance, a name below runs_root(), or
            a path.

    Raises:
        XtdroneError: There is no such folder.
    """
    for folder in (newest() if run == latest(0) else runs_root() / run, Path(run).expanduser()):
        if files.is_folder(folder):
            return folder
    known = names()
    near = difflib.get_close_matches(run, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    known = known[:_SHOWN] or ["(none there)"]
    raise XtdroneError(
        f"no run '{shown(run)}' in '{runs_root()}': give {latest(0)}, the path of a "
        f"run folder, or a name, the newest are {', '.join(known)}{hint}"
    )


def scenario_file(folder: Path | str) -> Path:
    """The scenario.yaml of a run, which names world and vehicles.

    Raises:
        XtdroneError: There is none, as of a flight of the simple simulator.
    """
    path = Path(folder) / SCENARIO
    if path.is_file():
        return path
    what = (
        "a flight of the simple simulator: 'xtdrone formation report' draws it, "
        "'xtdrone formation view' shows it"
        if path.with_name(TRUTH).is_file()
        else "give the name of a run in runs/, or its path"
    )
    raise XtdroneError(f"'{folder}' has no {SCENARIO}, which names world and vehicles: {what}")


def require_writable(folder: Path) -> None:
    """Refuses a folder, there or yet to be made, in which nothing can be written.

    Raises:
        XtdroneError: With the reason, as of a full disk or one that is read alone.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise XtdroneError(
            f"cannot write into '{folder}' ({error.strerror}): start it in a folder of yours"
        ) from error
    finally:
        for path in missing:
            with contextlib.suppress(OSError):
                path.rmdir()


def add_argument(parser: argparse.ArgumentParser, without: str = "") -> None:
    """Adds the argument RUN to a subcommand, with completion: find(args.of_run) is its folder.

    Args:
        parser: Parser of the subcommand.
        without: What the subcommand does where no run is given; empty: it takes the latest.
    """
    run: Any = parser.add_argument(
        "of_run",
        metavar="RUN",
        nargs="?",
        default=None if without else latest(0),
        help=f"name of a run in runs/, path of its folder, or {latest(0)} "
        f"({f'without it, {without}' if without else 'the default'})",
    )
    run.completer = lambda **_: [latest(0), *names()]


def create(name: str, instance: int | None = None) -> Path:
    """Makes runs/<name>, or runs/<name>-2, -3, ... where that exists, and its subfolders.

    Args:
        name: Name of the run.
        instance: Whose newest run it is; None for the instance of the environment.

    Raises:
        XtdroneError: It is no name, or the folder cannot be written.
    """
    check_name(name)
    base = runs_root()
    instance = Ports().instance if instance is None else instance
    try:
        if not base.exists():
            base.mkdir(parents=True, exist_ok=True)
            _made.add(base)
        number = 1
        while True:
            folder = base / (name if number == 1 else f"{name}-{number}")
            try:
                folder.mkdir()
                break
            except FileExistsError:
                number += 1
        prepare(folder)
        link = base / f".latest-{os.getpid()}"
        link.symlink_to(folder.name)
        link.replace(base / latest(instance))
    except OSError as error:
        raise XtdroneError(
            f"cannot make a run folder in '{base}': {error.strerror}; set "
            "XTDRONE_RUNS to a folder that can be written"
        ) from error
    return folder


def discard_unflown(folder: Path) -> None:
    """Removes a run folder if no time was simulated in it and no program wrote to its console.

    The folder of all runs goes, too, if this process has made it and nothing else is in it.
    """
    folder = Path(folder)
    logs = [path for path in (folder / "console").glob("*") if path.name != "autopilot.log"]
    if any(path.stat().st_size for path in (*logs, *folder.glob(TRUTH))):
        return
    shutil.rmtree(folder)
    for instance in range(INSTANCES):
        link = folder.parent / latest(instance)
        if link.is_symlink() and os.readlink(link) == folder.name:
            link.unlink()
            others = [
                path for path in folder.parent.iterdir() if path.is_dir() and not path.is_symlink()
            ]
            if others:
                link.symlink_to(max(others, key=lambda path: path.stat().st_mtime).name)
    if folder.parent in _made:
        with contextlib.suppress(OSError):  # something else is in it
            folder.parent.rmdir()


def prepare(folder: Path) -> None:
    """Makes the subfolders of a run in an empty folder."""
    for sub in SUBFOLDERS:
        (Path(folder) / sub).mkdir()


def write_json(path: Path, data: Any) -> None:  # data for JSON
    """Writes JSON atomically: a reader sees either the old file or the new one."""
    part = Path(path).with_suffix(".part")
    part.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n")
    part.replace(path)


def update_summary(folder: Path, reserve: int = 0, **values: Any) -> dict:  # values of JSON
    """Adds values to a run's summary.json and returns the whole.

    The file is replaced as a whole. With a reserve, the space of the replaced file is kept for the
    next call, which so succeeds on a full disk.

    Args:
        folder: Run folder.
        reserve: Size that the summary may grow to [bytes]; 0 = this is the last call.
        **values: JSON-compatible.

    Raises:
        OSError: It cannot be written.
    """
    path, spare = Path(folder) / SUMMARY, Path(folder) / _SPARE
    with _locked(folder):
        summary = {**_summary_so_far(folder), **values}
        text = json.dumps(summary, indent=2, allow_nan=False).encode()
        size = -(-reserve // _BLOCK) * _BLOCK
        _overwrite(spare, text.ljust(size - 1) + b"\n")
        old = spare.with_suffix(".old")
        old.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the first summary, or no hard links here
            if reserve:
                os.link(path, old)
        spare.replace(path)
        with contextlib.suppress(OSError):
            if old.exists():
                old.replace(spare)
            elif reserve:
                _overwrite(spare, bytes(size))
        return summary


def _overwrite(path: Path, data: bytes) -> None:
    """Writes data in place of the content of a file, in the space that it has."""
    try:
        with open(path, "r+b" if path.exists() else "wb", buffering=0) as file:
            if file.write(data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            file.truncate()
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()
        raise


def _summary_so_far(folder: Path) -> dict[str, Any]:
    try:
        return read_summary(folder)
    except XtdroneError:  # a damaged one is replaced
        return {}


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keeps other processes from changing a run folder's summary meanwhile."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_summary(folder: Path) -> dict[str, Any]:
    """A run's summary.json; empty if there is none.

    Raises:
        XtdroneError: It is damaged.
    """
    path = Path(folder) / SUMMARY
    if not os.path.lexists(path):
        return {}
    return files.check_keys(files.read_json(path, "summary"), f"summary '{shown(path)}'")


def read_events(folder: Path) -> list[dict[str, Any]]:
    """The events of a run in the order of time, from events.jsonl; none without that file.

    Lines that are no event, such as one that a killed program left incomplete, are skipped.

    Raises:
        XtdroneError: The file is no text.
    """
    path = Path(folder) / "events.jsonl"
    if not os.path.lexists(path):
        return []
    events = []
    for line in files.read_text(path, "event log").split("\n"):
        try:
            event = files.parse_json(line, "event")
        except XtdroneError:
            continue
        if (
            isinstance(event, dict)
            and isinstance(event.get("event"), str)
            and isinstance(event.get("t_us"), int)
            and 0 <= event["t_us"] < _ENDLESS_US
        ):
            events.append(event)
    return sorted(events, key=lambda event: event["t_us"])


class EventLog:
    """events.jsonl: events of a flight with their times, one JSON object per line."""

    def __init__(self, folder: Path, gaps: LogGaps | None = None) -> None:
        """Opens the log of a run folder; gaps collects what the disk does not take."""
        self._file = LogFile(Path(folder) / "events.jsonl", gaps or LogGaps())

    def add(self, t_us: int, event: str, **values: Any) -> None:  # values of JSON
        """Appends a line.

        Raises:
            ValueError: A value is no JSON.
        """
        line = json.dumps({"t_us": int(t_us), "event": event, **values}, allow_nan=False)
        self._file.append(f"{line}\n".encode(), int(t_us))
