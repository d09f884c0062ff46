"""A user-defined Agent: every vehicle climbs on a helix over its start, and lands.

    python examples/own_agent.py
    PYTHONPATH=examples xtdrone fly own_agent:Helix --n 3 --gps rtk
"""

import numpy as np

import xtdrone as xd
from xtdrone_core.flight_agent import FlightAgent

RADIUS, HEIGHT, TURNS, TURN_S = 2.0, 6.0, 3, 8.0  # [m], [m], [-], [s]


class Helix(FlightAgent):
    """FlightAgent arms, takes off and lands; between them it asks fly() for set-points."""

    MEMORY = (*FlightAgent.MEMORY, "_begun_us")  # so that a flight can be saved and reset

    def __init__(self, n=1, on_event=None):
        super().__init__(n, 3.0, land_from=HEIGHT, on_event=on_event)
        self._begun_us = 0

    def begin(self, t_us, estimates):
        """The vehicles have taken off."""
        self._begun_us = t_us

    def fly(self, t_us, estimates, out):
        """Position, velocity and heading along the helix; True when it is over."""
        t = (t_us - self._begun_us) * 1e-6
        share, rate = t / (TURNS * TURN_S), 2.0 * np.pi / TURN_S
        c, s = np.cos(rate * t), np.sin(rate * t)
        out.pos[:] = self.home + [RADIUS * (c - 1.0), RADIUS * s, 3.0 + (HEIGHT - 3.0) * share]
        out.vel[:] = [-RADIUS * rate * s, RADIUS * rate * c, (HEIGHT - 3.0) / (TURNS * TURN_S)]
        out.yaw[:] = rate * t + 0.5 * np.pi
        return share >= 1.0


if __name__ == "__main__":
    with xd.Simulation(xd.Scenario(vehicles="iris*3", gps="rtk"), agent=Helix(3)) as sim:
        sim.run(20.0)
        print(f"{sim.time:.1f} s: {sim.state.pos.round(2).tolist()}")
        sim.run()
        print(f"landed after {sim.time:.1f} s")
