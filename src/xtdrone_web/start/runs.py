"""Runs as the start page shows them; nothing is written here."""

import functools
import os
from pathlib import Path
from typing import Any

import yaml

from xtdrone_core import XtdroneError, files
from xtdrone_core.errors import shown
from xtdrone_core.runs import run_folder

from ..errors import WebError

LISTED = 200  # the newest runs
_FILES = 500  # files of a run that are listed
_OVERVIEW = "plots/flight.png"
_MAX_DEPTH = 4  # folders in each other
# Types of what is shown in the browser; everything else is a download.
TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".gif": "image/gif",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
    ".html": "text/html",
    **dict.fromkeys(
        (".json", ".jsonl", ".yaml", ".md", ".txt", ".log", ".csv", ".launch", ".params"),
        "text/plain",
    ),
}
# A file of a run is shown without scripts, and apart from the page.
POLICY = "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; sandbox"


def folder_of(name: str) -> Path:
    """Returns the folder of a run in runs/.

    Raises:
        XtdroneError: It is no name, or there is none.
    """
    run_folder.check_name(name)
    folder = run_folder.runs_root() / name
    if folder.is_symlink() or not folder.is_dir():
        raise WebError(f"there is no run '{shown(name)}' in '{run_folder.runs_root()}'")
    return folder


def listed() -> dict[str, Any]:
    """Returns the newest runs, a row each, and how many there are."""
    names = run_folder.names()
    return {
        "folder": str(run_folder.runs_root()),
        "count": len(names),
        "runs": [_row(name) for name in names[:LISTED]],
    }


def _row(name: str) -> dict[str, Any]:
    folder = run_folder.runs_root() / name
    try:
        at = max(
            (folder / part).stat().st_mtime
            for part in (run_folder.SUMMARY, ".")
            if (folder / part).exists()
        )
    except (OSError, ValueError):
        at = 0.0
    return {"name": name, "at": at, **_figures(folder, at)}


@functools.lru_cache(maxsize=4 * LISTED)
def _figures(folder: Path, at: float) -> dict[str, Any]:
    """Returns figures of summary and scenario; at: when they were written, for the cache."""
    try:
        summary = files.read_json(folder / run_folder.SUMMARY)
    except XtdroneError:
        summary = {}
    if not isinstance(summary, dict):
        summary = {}
    return {
        "vehicles": _vehicles(folder, summary),
        "world": str(summary.get("world", "")),
        "by": {"agent": "agent", None: ""}.get(summary.get("transport"), "pilots"),
        "seconds": summary.get("sim_time_s"),
        "result": _result(summary),
    }


def _vehicles(folder: Path, summary: dict[str, Any]) -> str:
    try:
        scenario = files.read_yaml(folder / "scenario.yaml", "scenario")
        types = [os.path.basename(str(each["type"])) for each in scenario["vehicles"]]
    except (XtdroneError, KeyError, TypeError, yaml.YAMLError):
        count = summary.get("n")
        return "" if count is None else f"{count} vehicles"
    counts = {name: types.count(name) for name in dict.fromkeys(types)}
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _result(summary: dict[str, Any]) -> str:
    """Returns how a run ended, in words."""
    if not summary:
        return "no summary"
    crashes, reached = summary.get("crashes"), summary.get("reached")
    words = [f"{len(crashes)} crashed"] if isinstance(crashes, list) and crashes else []
    if isinstance(reached, dict):
        words += [
            f"{name} {done[0]} of {done[1]}"
            for name, done in reached.items()
            if isinstance(done, list) and len(done) == 2
        ]
    ended = str(summary.get("ended", ""))
    return ", ".join([*words, *([ended] if ended else [])])


def described(name: str) -> dict[str, Any]:
    """Returns row, summary and files of a run.

    Raises:
        XtdroneError: There is none.
    """
    folder = folder_of(name)
    paths = []
    for top, folders, names in os.walk(folder):
        depth = len(Path(top).relative_to(folder).parts)
        folders[:] = sorted(folders) if depth < _MAX_DEPTH else []
        paths += [
            (Path(top) / each).relative_to(folder)
            for each in sorted(names)
            if not each.startswith(".")
        ]
    try:
        summary = files.read_json(folder / run_folder.SUMMARY)
    except XtdroneError:
        summary = {}
    return {
        **_row(name),
        "summary": summary,
        "more": max(0, len(paths) - _FILES),
        "files": [
            {"path": str(path), "bytes": (folder / path).stat().st_size}
            for path in paths[:_FILES]
            if (folder / path).exists()
        ],
        "plots": sorted(
            (
                str(path)
                for path in paths
                if path.parts[0] == "plots" and path.suffix in (".png", ".svg", ".jpg")
            ),
            key=lambda path: (path != _OVERVIEW, path),
        ),
        "reports": [
            str(path)
            for path in paths
            if path.suffix in (".md", ".html", ".pdf") or path.name.startswith("report")
        ],
    }


def file_of(name: str, path: str) -> Path:
    """Returns a file of a run.

    Raises:
        XtdroneError: There is none, or it is not in the run's folder.
    """
    folder = folder_of(name).resolve()
    try:
        file = (folder / path).resolve()
        inside = file.is_relative_to(folder) and file.is_file()
    except (OSError, ValueError):
        inside = False
    if not inside:
        raise WebError(f"run '{name}' has no file '{shown(path)}'")
    return file
