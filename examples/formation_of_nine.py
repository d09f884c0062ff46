"""Nine vehicles fly a cube, a pyramid and a triangle around their leader.

python examples/formation_of_nine.py
"""

import numpy as np

import xtdrone as xd
from xtdrone_formation.agents import FormationAgent


class Separation(xd.Observer):
    """The smallest distance between any two vehicles in the air."""

    period_us = 20_000

    def __init__(self):
        self.minimum = np.inf

    def on_step(self, t_us, state, sensors):
        apart = np.linalg.norm(state.pos[:, None] - state.pos, axis=2)
        np.fill_diagonal(apart, np.inf)
        if state.pos[:, 2].min() > 1.0:
            self.minimum = min(self.minimum, apart.min())


def tell(t_us, event, **values):
    """Prints what the leader commands, and when it has come true."""
    if event in ("formation", "settled"):
        print(f"{t_us * 1e-6:6.2f} s  {event} {values.get('formation', '')}")


agent = FormationAgent(9, ["cube", "pyramid", "triangle"], hold=3.0, on_event=tell)
separation = Separation()
scenario = xd.Scenario(vehicles="iris*9")
with xd.Simulation(scenario, agent=agent, observers=[separation]) as sim:
    sim.run()
    print(f"landed after {sim.time:.1f} s; no two were nearer than {separation.minimum:.2f} m")
