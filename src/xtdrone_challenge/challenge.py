"""What a challenge is, and what judges a flight of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from xtdrone_core import FleetState, Scenario, SensorBatch
from xtdrone_core.contracts import Observer


class Referee(Observer):
    """Sees the truth of a flight and counts; inherit and override.

    Attributes:
        over: Whether nothing more can be won, so that the flight ends.
    """

    period_us = 20_000
    over = False

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Called with the true state."""

    def points(self, collisions: int) -> float:
        """Returns the score, 0 to 100.

        Args:
            collisions: Contacts in the air so far.
        """
        raise NotImplementedError

    def figures(self) -> dict[str, float]:
        """Returns what the score is made of."""
        return {}


class Challenge:
    """A challenge; inherit and override. Its docstring is the rules.

    Attributes:
        baseline: The Agent whose score the table begins with.
        options: Of that Agent, beside what every team is told.
        longest_s: Simulated time after which a flight ends [s].
    """

    baseline: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}
    longest_s: ClassVar[float] = 120.0

    def scenario(self, seed: int, folder: Path) -> Scenario:
        """Returns what is flown; files that it needs go into the folder."""
        raise NotImplementedError

    def told(self, seed: int) -> dict[str, Any]:
        """Returns what a team is told: its Agent gets those that its constructor takes."""
        return {}

    def referee(self, seed: int) -> Referee:
        """Returns who judges a flight."""
        raise NotImplementedError
