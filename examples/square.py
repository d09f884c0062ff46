"""One vehicle flies a square of 4 m by an Agent of the workspace, which reports each corner.

python examples/square.py            the same as: xtdrone fly square
"""

import numpy as np

import xtdrone as xd
from xtdrone_control.agents import SquareAgent

errors = []


def tell(t_us, event, **values):
    """Prints the Agent's events, and measures the position error at each corner."""
    if event == "corner":
        errors.append(np.linalg.norm(sim.state.pos - values["place"], axis=1).max())
        print(f"{t_us * 1e-6:6.2f} s  corner {values['index']}, {errors[-1]:.2f} m away")


scenario = xd.Scenario(vehicles="iris")
with xd.Simulation(scenario, agent=SquareAgent(1, hold=1.0, on_event=tell)) as sim:
    sim.run()
print(f"flown in {sim.time:.1f} s; the largest error at a corner was {max(errors):.2f} m")
