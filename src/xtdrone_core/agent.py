"""Base classes of Agents, with defaults for what an Agent need not implement."""

import dataclasses
from collections.abc import Callable

import numpy as np

from .runs.snapshot import Memory
from .state import Estimates, SetPoints

PERIOD_US = 20_000  # period of set-points [us]


class BaseAgent(Memory):
    """Inherit and implement step(); the rest of contracts.Agent has defaults.

    List the Agent's state variables in MEMORY, so that a flight can be saved, loaded and reset;
    a stateless Agent sets MEMORY = ().

    Attributes:
        period_us: Between two calls of step() [us].
        done: The flight is complete.

    Examples:
        >>> import xtdrone as xd
        >>> class Wait(xd.Agent):
        ...     MEMORY = ()
        ...
        ...     def step(self, t_us, estimates):
        ...         return xd.SetPoints.empty(len(estimates.pos))
        >>> Wait().period_us
        20000
    """

    period_us = PERIOD_US
    done = False

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Returns set-points for the whole fleet from the autopilots' estimates."""
        raise NotImplementedError


class EachVehicle(BaseAgent):
    """Flies each vehicle by its own Agent, so that single vehicles can be reset in flight.

    Examples:
        >>> import xtdrone as xd
        >>> from xtdrone_control.agents import HoverAgent
        >>> xd.EachVehicle(3, lambda: HoverAgent(1, height=2.0)).done
        False
    """

    MEMORY = ("agents", "_out")

    def __init__(self, n: int, make: Callable[[], BaseAgent]):
        """n vehicles; make() returns a new Agent for one vehicle."""
        self.agents = [make() for _ in range(n)]
        self.period_us = self.agents[0].period_us
        self._out = SetPoints.empty(n)

    @property
    def done(self) -> bool:  # type: ignore[override]  # derived from the Agents', never set
        """Whether all Agents are done."""
        return all(agent.done for agent in self.agents)

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Returns the set-points of all Agents."""
        fields = [field.name for field in dataclasses.fields(estimates) if field.name != "t_us"]
        for i, agent in enumerate(self.agents):
            own = {name: getattr(estimates, name)[i : i + 1] for name in fields}
            command = agent.step(t_us, Estimates(estimates.t_us, **own))
            if command.actuators.shape[1] != self._out.actuators.shape[1]:
                self._out = SetPoints.empty(len(self.agents), command.actuators.shape[1])
            self._out.records[i], self._out.actuators[i] = command.records[0], command.actuators[0]
        return self._out

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Resets the Agents of these vehicles; the others are left unchanged."""
        for i, agent in enumerate(self.agents):
            if mask is None or mask[i]:
                agent.reset()
