"""A Python class that flies one vehicle."""

import xtdrone as xd


class Climb(xd.Backend):
    """Straight up at 0.5 m/s."""

    MEMORY = ()
    period_us = 20_000

    def step(self, t, state, sensors):
        wish = xd.SetPoints.empty(1)
        wish.vel[0] = 0.0, 0.0, 0.5
        return wish
