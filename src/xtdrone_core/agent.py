"""The base of Agents: what an Agent has that does not care about it."""

import dataclasses
from collections.abc import Callable

import numpy as np

from .snapshot import Memory
from .state import Estimates, SetPoints

PERIOD_US = 20_000  # of set-points [us]


class BaseAgent(Memory):
    """Inherit and write step(); implements contracts.Agent.

    Name in MEMORY what the Agent remembers, so that a flight can be saved, loaded and reset;
    an Agent without a memory says MEMORY = ().

    Attributes:
        period_us: Between two calls of step() [us].
        done: The flight may end.
    """

    period_us = PERIOD_US
    done = False

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Set-points for the whole fleet from what its autopilots estimate."""
        raise NotImplementedError


class EachVehicle(BaseAgent):
    """Flies every vehicle by an Agent of its own, so that one of them can be reset in flight."""

    MEMORY = ("agents", "_out")

    def __init__(self, n: int, make: Callable[[], BaseAgent]):
        """n vehicles; make() gives a new Agent for one vehicle."""
        self.agents = [make() for _ in range(n)]
        self.period_us = self.agents[0].period_us
        self._out = SetPoints.empty(n)

    @property
    def done(self) -> bool:  # type: ignore[override]  # derived from theirs, and never set
        """Whether all of them are."""
        return all(agent.done for agent in self.agents)

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """What each Agent wants of its vehicle."""
        fields = [field.name for field in dataclasses.fields(estimates) if field.name != "t_us"]
        for i, agent in enumerate(self.agents):
            own = {name: getattr(estimates, name)[i:i + 1] for name in fields}
            wish = agent.step(t_us, Estimates(estimates.t_us, **own))
            if wish.actuators.shape[1] != self._out.actuators.shape[1]:
                self._out = SetPoints.empty(len(self.agents), wish.actuators.shape[1])
            self._out.records[i], self._out.actuators[i] = wish.records[0], wish.actuators[0]
        return self._out

    def reset(self, mask: np.ndarray | None = None) -> None:
        """These vehicles' Agents begin anew; the others are not touched."""
        for i, agent in enumerate(self.agents):
            if mask is None or mask[i]:
                agent.reset()
