"""Agents that fly vehicles one by one, inside the lockstep and without ROS."""

import math

import numpy as np

from xtdrone_core import ARM, KEEP, Mode, SetPoints
from xtdrone_core.flight_agent import FlightAgent

_REACHED = 0.3  # a corner nearer than this is reached [m]


class SquareAgent(FlightAgent):
    """Take-off to 3 m, a 4 m square by OFFBOARD position set-points, landing.

    Every vehicle of the fleet flies its own square, counter-clockwise from its
    start. Event beside those of FlightAgent: `corner` (index 1 to 4, place of
    each vehicle), when all have stayed at it.
    """

    def __init__(self, n: int = 1, side: float = 4.0, height: float = 3.0, hold_s: float = 2.0,
                 time_out_s: float = 20.0, on_event=None):
        """A square flight.

        Args:
            n: Number of vehicles.
            side: Length of a side [m].
            height: Above the start [m].
            hold_s: How long to stay at each corner [s].
            time_out_s: After which the next corner is flown to in any case [s].
            on_event: Called as on_event(t_us, name, **values).

        Raises:
            XtdroneError: A height that makes no sense.
        """
        super().__init__(n, height, land_from=height, on_event=on_event)
        self._corners = side * np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0.0]])
        self._index = 0
        self._hold_us = round(hold_s * 1e6)
        self._time_out = round(time_out_s * 1e6)
        self._asked_at, self._inside_us = 0, None

    def begin(self, t_us, estimates):
        """The first corner counts from here."""
        self._asked_at = t_us

    def fly(self, t_us, estimates, out):
        """The corner flown to now; the next one when all have stayed at it."""
        out.pos[:] = self.pads + self._corners[self._index] + [0.0, 0.0, self.height]
        away = np.linalg.norm(estimates.pos - out.pos, axis=1).max() > _REACHED
        if away:
            self._inside_us = None
        elif self._inside_us is None:
            self._inside_us = t_us
        stayed = not away and t_us - self._inside_us >= self._hold_us
        if not stayed and t_us - self._asked_at < self._time_out:
            return False
        self._index += 1
        self.event(t_us, "corner", index=self._index, reached=stayed,
                   place=np.round(out.pos, 3).tolist())
        self._asked_at, self._inside_us = t_us, None
        return self._index == len(self._corners)


class HoverAgent:
    """Takes every vehicle straight up in OFFBOARD and keeps it there, without an end.

    For benchmarks and tests that want a flying fleet. Inherit and write offset()
    to move it.
    """

    def __init__(self, n: int = 1, height: float = 3.0, yaw: float = math.nan):
        """n vehicles to a height above where each stood [m], at a yaw [rad] (NaN: as it is)."""
        self.done = False
        self._height, self._yaw = height, yaw
        self._out = SetPoints.empty(n)
        self._pads = None

    def offset(self, t_us: int) -> tuple:
        """Where each vehicle shall be, from where it stood, world [m]."""
        return 0.0, 0.0, self._height

    def step(self, t_us, estimates) -> SetPoints:
        """Set-points of the fleet; nothing before all are ready."""
        out = self._out
        out.mode.fill(KEEP)
        out.arm.fill(KEEP)
        if self._pads is None and estimates.ready.all():
            self._pads = estimates.pos.copy()
        if self._pads is not None:
            out.pos[:] = self._pads + self.offset(t_us)
            out.yaw[:] = self._yaw
            idle = ~estimates.armed
            out.mode[idle], out.arm[idle] = Mode.OFFBOARD, ARM
        return out
