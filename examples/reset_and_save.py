"""Resets one vehicle of a fleet, and continues from a saved state.

python examples/reset_and_save.py
"""

import tempfile
from pathlib import Path

import numpy as np

import xtdrone as xd

scenario = xd.Scenario(vehicles="iris*3")
path = Path(tempfile.mkdtemp()) / "state.zip"

with xd.Simulation(scenario) as sim:
    sim.arm()
    sim.takeoff(3.0)
    sim.reset(vehicles=[2])  # the others fly on, unchanged to the bit
    print("heights after the reset:", sim.state.pos[:, 2].round(2))
    sim.save(path)
    sim.run(5.0)
    end = sim.state.pos.copy()

with xd.Simulation(scenario) as again:  # in this process or in any other
    again.load(path)
    again.run(5.0)
    print("the same to the bit:", np.array_equal(again.state.pos, end))
