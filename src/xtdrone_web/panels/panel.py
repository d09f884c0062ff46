"""The server's side of a panel of the page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..description import StationDescription
from ..links.order import Answer, Order
from ..links.pilot import Pilot
from ..links.world_control import WorldControl


@dataclass(frozen=True)
class Services:
    """The part of the server that a panel may use."""

    description: StationDescription
    pilot: Pilot  # commands vehicles
    world: WorldControl  # asks the simulation


class Panel:
    """A panel without orders and messages; a subclass has those that it needs.

    Attributes:
        script: The JavaScript module of another package's panel; ours are found by their names.
    """

    script: ClassVar[Path] = Path()

    def __init__(self, services: Services):
        """Makes the panel of a running simulation."""
        self.services = services

    def orders(self) -> Mapping[str, Order]:
        """Returns what its script may ask, by the ops of the messages."""
        return {}

    def scene(self) -> dict[str, Any]:
        """Returns what its script needs from the start, for the page's scene: values for JSON."""
        return {}

    def on_frame(self, arrays: Mapping[str, np.ndarray]) -> Callable[[], Answer] | None:
        """Takes the newest frame of the simulation.

        Returns:
            None, or a function that may block and returns a message, with its op, for all pages.
        """
        return None
