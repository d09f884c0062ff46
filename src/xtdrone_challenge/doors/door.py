"""What all doors have in common."""

import dataclasses
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from xtdrone_core import Scenario

from ..errors import ChallengeError
from ..programs import Processes

_OPEN_S = 60.0  # wall time in which what serves a team has to be there [s]
# What the rules forbid to subscribe to: true states.
_FORBIDDEN = re.compile(
    r"/gazebo/(model|link)_states|/xtdrone/[^/]+/ground_truth/.*|/drone\d+/state/.*"
)


class Door:
    """What a team's program flies by; inherit and override.

    Attributes:
        options: Of the scenario, beside those of the challenge.
        control: Whether what serves the team follows the simulation by its control socket.
    """

    options: ClassVar[Mapping[str, Any]] = {}  # values of options
    control: ClassVar[bool] = False

    def check(self) -> None:
        """Refuses a machine without what the door needs.

        Raises:
            XtdroneError: It lacks something.
        """

    def scenario(self, scenario: Scenario) -> Scenario:
        """Returns what is flown through this door, in real time."""
        return dataclasses.replace(scenario, speed=1.0, **self.options)

    def open(self, simulation: Any, processes: Processes, folder: Path) -> None:  # a Simulation
        """Opens it, before the team starts.

        Raises:
            XtdroneError: It cannot be opened.
        """

    def environment(self, scenario: Scenario) -> dict[str, str]:
        """Returns variables that a team's program gets."""
        return {}

    def told(self, scenario: Scenario) -> dict[str, Any]:
        """Returns what a team's program is told of the door."""
        return {}

    def forbidden(self) -> str:
        """Returns what the team does against the rules; empty if nothing."""
        return ""

    def close(self) -> None:
        """Closes it; after the team's end."""


def await_servers(simulation: Any, there: Callable[[], bool], logs: str) -> None:  # a Simulation
    """Answers on the control socket until what serves a team is there.

    Raises:
        ChallengeError: It does not come.
    """
    requests, end = simulation.requests, time.monotonic() + _OPEN_S
    while not there():
        requests.server.poll(requests.handle, 0.05)
        if time.monotonic() > end:
            raise ChallengeError(f"what serves the team does not begin: see {logs}")


def against_the_rules(topics: Mapping[str, str]) -> str:
    """Says which subscription the rules forbid; topics: who subscribes to each."""
    found = sorted(topic for topic in topics if _FORBIDDEN.fullmatch(topic))
    if not found:
        return ""
    return f"{topics[found[0]]} subscribes to {found[0]}: the rules forbid the true state"
