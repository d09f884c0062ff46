"""How close a vehicle keeps to a circle in wind."""

import math

import numpy as np

import xtdrone as xd
from xtdrone_guidance.agents import TrajectoryAgent


class Judged(TrajectoryAgent):
    """Notes the true distance to the set-point."""

    def attach(self, flight):
        self.flight, self.distances = flight, []

    def fly(self, t_us, estimates, out):
        over = super().fly(t_us, estimates, out)
        if t_us - self._begun_us > 6_000_000:
            self.distances.append(np.linalg.norm(self.flight.state.pos[0] - out.pos[0]))
        return over


def rms_of_a_circle(vehicle, **options):
    """RMS of the true distance to the set-points of two laps in 5 m/s of wind [m]."""
    agent = Judged(1, curve="circle", lap=8.0, laps=2, height=2.0)
    scenario = xd.Scenario(vehicles=vehicle, wind="5,0,0", gps="rtk", seed=3, **options)
    with xd.Simulation(scenario, agent=agent) as simulation:
        while not agent.done:
            simulation.step(250)
    return math.sqrt(np.mean(np.square(agent.distances)))
