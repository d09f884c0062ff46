"""Evaluations as they come: evaluations.jsonl, one line for each candidate that was evaluated.

The first line is the study's definition.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xtdrone_core.runs.json_lines import JsonLines

from .errors import OptimiseError
from .evaluation import Measured

NAME = "evaluations.jsonl"
_DIGITS = 9  # of a variable, by which a candidate is found again


class Journal(JsonLines):
    """The evaluations in the folder of a study; use it in a `with` block.

    Attributes:
        measured: What was measured, by key(); in the order of the file.
    """

    def __init__(self, folder: Path, definition: Mapping[str, Any]) -> None:
        """Reads what is there, and keeps other programs from writing to it.

        Args:
            folder: Folder of the study.
            definition: Of the study; the first line of the file has it.

        Raises:
            OptimiseError: Another program runs this study, or the folder holds another one.
        """
        busy = OptimiseError(
            f"another program runs the study in '{folder}': wait for its end, or give --out "
            "another folder"
        )
        super().__init__(folder / NAME, busy)
        head, *rows = [*self.rows()] or [{}]
        plain = json.loads(json.dumps(definition, default=str))
        if not (folder / NAME).stat().st_size:
            self.append({"study": plain})
        elif head.get("study") != plain:
            self.close()
            raise OptimiseError(
                f"'{folder}' holds evaluations of another study: repeat its study, or give --out "
                "another folder"
            )
        self.measured: dict[str, Measured] = {
            key(row["values"]): Measured(row["figures"], row["reason"])
            for row in rows
            if "values" in row
        }

    def add(self, values: Mapping[str, float], measured: Measured) -> None:
        """Appends an evaluation; it is on the disk when this returns.

        Raises:
            OSError: The disk does not take it.
        """
        self.append(
            {
                "values": dict(values),
                "reason": measured.reason,
                "figures": {name: list(each) for name, each in measured.figures.items()},
            }
        )
        self.measured[key(values)] = measured


def key(values: Mapping[str, float]) -> str:
    """Returns what tells candidates apart."""
    return " ".join(f"{name}={value:.{_DIGITS}g}" for name, value in sorted(values.items()))
