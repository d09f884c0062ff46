"""Autopilots of one's own, as a scenario names them: second_stack:SecondStack."""

from xtdrone_autopilot.autopilot import EmbeddedAutopilot
from xtdrone_core.contracts import RemovableVehicles


class SecondStack(EmbeddedAutopilot):
    """The embedded one under another name, so that a fleet has two."""


class OwnClock(RemovableVehicles):
    """Stands for a flight stack in a process of its own: its time begins with its first step."""

    made: list["OwnClock"] = []  # all that there were

    def __init__(self, stack):
        """Around an embedded flight stack."""
        self.stack, self.begin_us, self.left, self.closed = stack, None, [], False
        self.made.append(self)

    @classmethod
    def for_scenario(cls, context):
        """As of Autopilot."""
        return cls(EmbeddedAutopilot.for_scenario(context))

    def step(self, t_us, sensors):
        """On its own time."""
        if self.begin_us is None:
            self.begin_us = t_us
        return self.stack.step(t_us - self.begin_us, sensors)

    def remove_vehicle(self, i):
        """Vehicle i leaves."""
        self.left.append(i)

    def close(self):
        """It has ended."""
        self.closed = True
        self.stack.close()

    def estimates(self):
        """Its own."""
        return self.stack.estimates()

    def apply(self, set_points):
        """As they are."""
        self.stack.apply(set_points)

    def health(self):
        """Its own."""
        return self.stack.health()

    def reset(self, mask=None):
        """As a process does, by starting again."""
        self.stack.reset(mask)

    def interrupt(self):
        """It waits for nobody."""

    save = load = interrupt
