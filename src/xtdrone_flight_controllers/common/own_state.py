"""Base of flight stacks whose state lies in a program of their own."""

from typing import ClassVar

import numpy as np

from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core import Scenario
from xtdrone_core.contracts import Snapshot


class OwnState:
    """Refuses what needs the state of the flight stack. Inherit from it; reset() may be possible.

    Attributes:
        own_state: Why it is refused, and what to do.
    """

    own_state: ClassVar[str]

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Not possible.

        Raises:
            AutopilotError: Always.
        """
        raise AutopilotError(self.own_state)

    def save(self) -> dict:
        """Not possible.

        Raises:
            AutopilotError: Always.
        """
        raise AutopilotError(self.own_state)

    def load(self, snapshot: Snapshot) -> None:
        """Not possible.

        Raises:
            AutopilotError: Always.
        """
        raise AutopilotError(self.own_state)


def check_given(scenario: Scenario, stack: str, instead: str) -> None:
    """Refuses a scenario that gives a mission or parameters to a stack that takes none from here.

    Raises:
        AutopilotError: It does.
    """
    for name in ("mission", "params"):
        if getattr(scenario, name):
            raise AutopilotError(f"{name} cannot be given to {stack}: leave it out{instead}")
