"""The results of a campaign as they come: results.jsonl, one line for each flight that has ended.

A program that is killed loses only the flights that were in the air. Of a flight that was flown
again the last line holds.
"""

from pathlib import Path
from typing import Any

from xtdrone_core.runs.json_lines import JsonLines

from .errors import CampaignError
from .flight import STATUSES, Result

NAME = "results.jsonl"


class Journal(JsonLines):
    """The results in the folder of a campaign; use it in a `with` block.

    Attributes:
        results: Results by the index of the flight.
    """

    def __init__(self, folder: Path, flights: int) -> None:
        """Reads what is there, and keeps other programs from writing to it.

        Args:
            folder: Folder of the campaign.
            flights: Number of flights in its plan.

        Raises:
            CampaignError: Another program flies this campaign.
        """
        busy = CampaignError(
            f"another program flies the campaign in '{folder}': wait for its "
            "end, or give --out another folder"
        )
        super().__init__(folder / NAME, busy)
        self.results: dict[int, Result] = {}
        for row in self.rows():
            self._take(row, flights)

    def add(self, index: int, result: Result) -> None:
        """Appends the result of a flight; it is on the disk when this returns.

        Raises:
            OSError: The disk does not take it.
        """
        self.append(
            {
                "flight": index,
                "status": result.status,
                "reason": result.reason,
                "figures": dict(result.figures),
                "wall_s": result.wall_s,
            }
        )
        self.results[index] = result

    def _take(self, row: dict[str, Any], flights: int) -> None:
        """Takes a line; one that is no result is left out."""
        try:
            index = row["flight"]
            result = Result(row["status"], row["reason"], row["figures"], row["wall_s"])
            if index in range(flights) and result.status in STATUSES:
                self.results[index] = result
        except (KeyError, TypeError):
            return
