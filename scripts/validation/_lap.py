"""A lap of a tail-sitter in wind, measured for studies/tail_sitter.yaml."""

import tempfile
from pathlib import Path

import numpy as np

import xtdrone as xd
from xtdrone_guidance.agents import GuidanceAgent

RADIUS, HEIGHT = 60.0, 12.0  # of the circle, above the start [m]
WIND = "mean=6,0,0 dryden=3"
_LONGEST_S = 120.0


class Lap(GuidanceAgent):
    """A GuidanceAgent that notes true place and shaft power until the lap is over."""

    def attach(self, flight):
        super().attach(flight)
        self.flight, self.rows, self.over = flight, [], False

    def fly(self, t_us, estimates, out):
        self.over = super().fly(t_us, estimates, out)
        place = self.flight.state.pos[0] - self.home[0] - [0.0, 0.0, self.height]
        self.rows.append((t_us * 1e-6, *place, self.flight.plant.actuators.power[0]))
        return self.over


def flown(vehicle, values, seed):
    """Flies a lap; returns rows of time, place and power (T, 5), and the largest distance [m]."""
    angles = 2.0 * np.pi * np.arange(48) / 48
    points = RADIUS * np.column_stack([np.sin(angles), 1.0 - np.cos(angles), 0.0 * angles])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lap.csv"
        np.savetxt(path, points, delimiter=",")
        agent = Lap(
            1,
            path=str(path),
            closed=True,
            laps=1,
            height=HEIGHT,
            speed=values["speed"],
            acceleration=values["acceleration"],
            width=values["width"],
        )
    scenario = xd.Scenario(
        vehicles=vehicle,
        gps="rtk",
        seed=seed,
        wind=WIND,
        log="none",
        velocity_control="indi",
        rate_control="indi",
    )
    with xd.Simulation(scenario, agent=agent) as simulation:
        while not agent.over:
            simulation.step(125)
            if simulation.time > _LONGEST_S:
                raise xd.XtdroneError(f"no lap after {simulation.time:.0f} s")
    rows = np.array(agent.rows)
    away = [np.linalg.norm(agent.path.nearest(place).pos - place) for place in rows[:, 1:4]]
    return rows, float(np.max(away))


def lap(vehicle, values, seeds):
    """Returns energy [kJ] and duration [s] of a lap, and how far it leaves the circle [m]."""
    figures = {"energy_kj": [], "overshoot_m": [], "seconds": []}
    for seed in seeds:
        rows, away = flown(vehicle, values, seed)
        figures["energy_kj"].append(float(rows[1:, 4] @ np.diff(rows[:, 0])) * 1e-3)
        figures["overshoot_m"].append(away)
        figures["seconds"].append(float(rows[-1, 0] - rows[0, 0]))
    return figures
