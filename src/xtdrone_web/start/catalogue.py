"""All vehicles and worlds with figures and pictures, which a process of its own makes."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from xtdrone_core import XtdroneError, listing, resources
from xtdrone_core.runs.parent import tied

from ..errors import WebError
from . import uploads

_NO_VEHICLES = ("car", "person", "sun", "ground_plane")
_CHECK_S = 60.0  # time that reading a file of the user's may take [s]
_MEMORY = 4 << 30  # largest memory of the process that reads it [bytes]


class Catalogue:
    """Vehicles and worlds by name; figures and pictures come as they are made.

    Attributes:
        reports: Figures and picture of each, or its error, by (kind, name): values of JSON.
    """

    def __init__(self, folder: Path):
        """Takes the folder of the user's models."""
        self.folder = folder
        self.reports: dict[tuple[str, str], dict[str, Any]] = {}
        self._lines: dict[str, dict[str, str]] = {}
        self._filling: asyncio.Task[None] | None = None

    def known(self, kind: str) -> dict[str, str]:
        """Returns a line on each name of a kind, "vehicle" or "world"."""
        if kind not in self._lines:
            self._lines[kind] = _vehicles() if kind == "vehicle" else listing.worlds()
        return self._lines[kind]

    def own(self) -> dict[str, str]:
        """Returns the SDF file of each model of the user."""
        paths = {}
        for name in uploads.names(self.folder):
            try:
                paths[name] = str(resources.model_sdf(self.folder / name))
            except XtdroneError:
                continue
        return paths

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Returns names, lines, figures, and whether there is a picture: values for JSON."""
        vehicles = [
            self._row("vehicle", name, name, line) for name, line in self.known("vehicle").items()
        ]
        vehicles += [
            {**self._row("vehicle", path, name, "your own model"), "own": True}
            for name, path in self.own().items()
        ]
        return {
            "vehicles": vehicles,
            "worlds": [
                self._row("world", name, name, line) for name, line in self.known("world").items()
            ],
        }

    def _row(self, kind: str, name: str, label: str, line: str) -> dict[str, Any]:
        report = self.reports.get((kind, name), {})
        row = {key: value for key, value in report.items() if key not in ("picture", "kind")}
        return {
            **row,
            "name": name,
            "label": label,
            "line": line,
            "picture": bool(report.get("picture")),
        }

    def picture(self, kind: str, label: str) -> Path | None:
        """Returns the picture of a name, or None."""
        name = self.own().get(label, label) if kind == "vehicle" else label
        path = self.reports.get((kind, name), {}).get("picture")
        return Path(path) if path else None

    def begin(self) -> None:
        """Begins to have everything described, once; called in the event loop."""
        if self._filling is None:
            self._filling = asyncio.create_task(self._fill())

    async def close(self) -> None:
        """Ends the process."""
        if self._filling is not None:
            self._filling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._filling

    async def _fill(self) -> None:
        """Has all described: the worlds first, which are few."""
        wanted = [("world", name) for name in self.known("world")]
        wanted += [("vehicle", name) for name in (*self.known("vehicle"), *self.own().values())]
        await self._describe(wanted)

    async def check(self, sdf: Path) -> dict[str, Any]:
        """Returns the reader's report on a file.

        Raises:
            WebError: It refuses it, or does not come to an end.
        """
        try:
            await asyncio.wait_for(self._describe([("vehicle", str(sdf))], limited=True), _CHECK_S)
        except asyncio.TimeoutError as error:
            raise WebError(f"'{sdf.name}' is not read within {_CHECK_S:g} s") from error
        report = self.reports.pop(("vehicle", str(sdf)), None)
        if report is None:
            raise WebError(f"'{sdf.name}' cannot be read: its reader has ended without a word")
        if "error" in report:
            raise WebError(report["error"])
        self.reports["vehicle", str(sdf)] = report
        return report

    async def _describe(self, wanted: list[tuple[str, str]], limited: bool = False) -> None:
        """Starts the process, from the main thread: it ends with this one."""
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "xtdrone_web.start.describe",
                *(f"{kind}:{name}" for kind, name in wanted),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=tied(signal.SIGKILL, _less if limited else _nice),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        reader = asyncio.StreamReader(limit=1 << 24)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), process.stdout
        )
        try:
            while line := await reader.readline():
                if line.startswith(b'{"kind"'):
                    report = json.loads(line)
                    self.reports[report["kind"], report["name"]] = report
        finally:
            transport.close()
            process.kill()
            process.wait()


def _nice() -> None:
    """Leaves the processors to simulations."""
    os.nice(10)


def _less() -> None:
    """Limits what a file of the user's can take."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def _vehicles() -> dict[str, str]:
    """Returns a line on each vehicle of models/, also on those that drive."""
    lines = listing.vehicles()
    for folder in sorted((resources.root() / "models").iterdir()):
        if folder.is_dir() and folder.name not in (*lines, *_NO_VEHICLES):
            lines[folder.name] = listing.description(folder)
    return dict(sorted(lines.items()))
