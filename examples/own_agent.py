"""A user-defined Agent: every vehicle climbs on a helix over its start, and lands.

python examples/own_agent.py
PYTHONPATH=examples xtdrone fly own_agent:Helix --n 3 --set radius=3 --set turns=2
PYTHONPATH=examples xtdrone fly own_agent:Helix --help
"""

from typing import Annotated

import numpy as np

import xtdrone as xd
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.options import Option

BOTTOM = 3.0  # take-off height [m]


class Helix(FlightAgent):
    """FlightAgent arms, takes off and lands; between them it asks fly() for set-points."""

    MEMORY = (*FlightAgent.MEMORY, "_begun_us")  # so that a flight can be saved and reset

    def __init__(
        self,
        n=1,
        radius: Annotated[float, Option("of the helix", unit="m", minimum=0.5, maximum=20.0)] = 2.0,
        top: Annotated[float, Option("above the start", unit="m", minimum=4.0, maximum=50.0)] = 6.0,
        turns: Annotated[int, Option("from bottom to top", minimum=1, maximum=100)] = 3,
        period: Annotated[float, Option("of a turn", unit="s", minimum=4.0)] = 8.0,
        on_event=None,
    ):
        super().__init__(n, BOTTOM, land_from=top, on_event=on_event)
        self.radius, self.top, self.turns, self.period = radius, top, turns, period
        self._begun_us = 0

    def begin(self, t_us, estimates):
        """The vehicles have taken off."""
        self._begun_us = t_us

    def fly(self, t_us, estimates, out):
        """Position, velocity and heading along the helix; True when it is over."""
        angle = 2.0 * np.pi * (t_us - self._begun_us) * 1e-6 / self.period
        share, rate = angle / (2.0 * np.pi * self.turns), 2.0 * np.pi / self.period
        c, s, climb = np.cos(angle), np.sin(angle), self.top - BOTTOM
        out.pos[:] = self.home + [self.radius * (c - 1.0), self.radius * s, BOTTOM + climb * share]
        out.vel[:] = [
            -self.radius * rate * s,
            self.radius * rate * c,
            climb / (self.turns * self.period),
        ]
        out.yaw[:] = angle + 0.5 * np.pi
        return share >= 1.0


if __name__ == "__main__":
    with xd.Simulation(xd.Scenario(vehicles="iris*3"), agent=Helix(3)) as sim:
        sim.run(20.0)
        print(f"{sim.time:.1f} s: {sim.state.pos.round(2).tolist()}")
        sim.run()
        print(f"landed after {sim.time:.1f} s")
