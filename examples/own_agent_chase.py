"""A user-defined Agent with velocity set-points: vehicle 0 flies a circle, the others chase it.

PYTHONPATH=examples xtdrone fly own_agent_chase:Chase --n 3
PYTHONPATH=examples xtdrone fly own_agent_chase:Chase --n 4 --set gap=3 --set period=25
"""

from typing import Annotated

import numpy as np

from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.options import Option

GAIN = 0.8  # of the distance error [1/s]


class Chase(FlightAgent):
    """Each vehicle but the first chases the one before it by pure pursuit, at a distance."""

    MEMORY = (*FlightAgent.MEMORY, "_begun_us")

    def __init__(
        self,
        n=3,
        radius: Annotated[
            float, Option("of the circle", unit="m", minimum=2.0, maximum=50.0)
        ] = 6.0,
        period: Annotated[float, Option("of a lap", unit="s", minimum=10.0, maximum=600.0)] = 20.0,
        gap: Annotated[
            float, Option("to the vehicle ahead", unit="m", minimum=1.0, maximum=20.0)
        ] = 2.0,
        on_event=None,
    ):
        super().__init__(n, height=4.0, on_event=on_event)
        self.radius, self.period, self.gap = radius, period, gap
        self._begun_us = 0

    def begin(self, t_us, estimates):
        """The lap begins."""
        self._begun_us = t_us

    def fly(self, t_us, estimates, out):
        """A position for the first vehicle; for the others velocities alone, NaN in pos."""
        t = (t_us - self._begun_us) * 1e-6
        rate = -2.0 * np.pi / self.period  # clockwise, away from the others on the ground
        angle = rate * t
        out.pos[0] = self.home[0] + [
            self.radius * (np.cos(angle) - 1.0),
            self.radius * np.sin(angle),
            self.height,
        ]
        out.vel[0] = self.radius * rate * np.array([-np.sin(angle), np.cos(angle), 0.0])
        away = estimates.pos[:-1] - estimates.pos[1:]  # from each to the one ahead of it
        distance = np.linalg.norm(away, axis=1, keepdims=True)
        speed = np.linalg.norm(estimates.vel[:-1], axis=1, keepdims=True)
        out.vel[1:] = (speed + GAIN * (distance - self.gap)) * away / distance
        return t >= self.period
