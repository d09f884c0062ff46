"""What an Agent that takes goals knows and does, and goals from the page."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..links.order import Order
from .panel import Panel, Services


class Navigation(Panel):
    """The map, the way and the goal; without an Agent that takes goals the panel stays closed."""

    def __init__(self, services: Services):
        """Knows nothing of the Agent yet."""
        super().__init__(services)
        self._takes_goals = False

    def orders(self) -> Mapping[str, Order]:
        """Returns what the panel shows, and the order to fly to a goal."""
        world = self.services.world
        look = world.order("navigation")
        return {
            "navigation": Order(look.run, for_viewers=True),
            "goal": world.order("goal", "goal"),
        }

    def scene(self) -> dict[str, Any]:
        """Returns whether the Agent takes goals."""
        return {"takes_goals": self._takes_goals}

    def on_frame(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Notes whether the Agent takes goals, once there is one."""
        if "takes_goals" in arrays:
            self._takes_goals = bool(arrays["takes_goals"][0])


PANEL = Navigation
