"""Reads the truth and the flight log of a run into NumPy, and plots the estimator's error.

python examples/read_logs.py
"""

import numpy as np

import xtdrone as xd
from xtdrone_autopilot.ulog.reader import FlightLog
from xtdrone_core import plot_style
from xtdrone_core.runs.truth_log import read_truth

with xd.Simulation(xd.Scenario(vehicles="iris", name="logs"), record=True) as sim:
    sim.arm()
    sim.takeoff(3.0)
    sim.goto([6.0, 2.0, 4.0])
    sim.land()
    folder = sim.folder

t_us, truth = read_truth(folder / "truth.bin", 1)
true_pos = truth[:, 0, 0:3]  # world ENU [m]

log = FlightLog(next((folder / "ulog" / "iris_0").glob("*.ulg")))
local = log.topic("vehicle_local_position")  # NED, as PX4 has it
estimate = np.column_stack([local["y"], local["x"], -local["z"]])
nearest = np.searchsorted(t_us, local["timestamp"]).clip(max=len(t_us) - 1)
error = np.linalg.norm(estimate - true_pos[nearest], axis=1)
settled = local["timestamp"] > 5_000_000

figure = plot_style.figure(8, 3)
(axes,) = plot_style.time_axes(figure, ["[m]"], ["error of the estimated position"])
axes.plot(local["timestamp"] * 1e-6, error)
plot_style.save(figure, folder / "plots" / "estimator_error.png")
print(f"{np.sqrt(np.mean(error[settled] ** 2)):.2f} m RMS; {folder / 'plots'}/estimator_error.png")
