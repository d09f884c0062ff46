"""Flights of a page, kept in a file one by one, so that a stopped command goes on where it was."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs.json_lines import JsonLines

HELP = """--keep FILE: each flight is a line of FILE as soon as it has ended, and a flight that is
there is not flown again; --flown FILE: the page of the flights that are there"""


class Kept:
    """Values by name, from a file of lines of JSON or from what makes them."""

    def __init__(self, arguments: list[str]) -> None:
        """Reads the file.

        Args:
            arguments: Of the command line: none, --keep FILE or --flown FILE.
        """
        self._lines, self._values, self._flies = None, {}, True
        if not arguments:
            return
        if len(arguments) != 2 or arguments[0] not in ("--keep", "--flown"):
            sys.exit(HELP)
        self._flies = arguments[0] == "--keep"
        path = Path(arguments[1])
        self._lines = JsonLines(path, XtdroneError(f"{path} is held by another program"))
        self._values = {row["name"]: row["value"] for row in self._lines.rows()}

    def of(self, name: str, seeds: Iterable[int]) -> list[int]:
        """Returns the seeds of flights with a name that are flown, or may be."""
        return [seed for seed in seeds if self._flies or f"{name} {seed}" in self._values]

    def __call__(self, name: str, make: Callable[[], Any]) -> Any:
        """Returns a value that JSON can hold: as kept, or made and kept now."""
        if name not in self._values:
            self._values[name] = make()
            print(f"flown: {name}", flush=True)
            if self._lines is not None:
                self._lines.append({"name": name, "value": self._values[name]})
        return self._values[name]
