"""Agents that follow curves."""

import math
from collections.abc import Callable
from typing import Annotated

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.errors import XtdroneError, unknown_name
from xtdrone_core.flight_agent import FlightAgent, minimum_jerk
from xtdrone_core.scenario.options import Option

from .curves import CURVES

_RAMP_S = 3.0  # time in which the phase reaches its rate, from rest [s]


class TrajectoryAgent(FlightAgent):
    """Take-off, laps of a curve by set-points of position, velocity and acceleration, landing.

    Each vehicle flies the curve from its own start. In addition to the events of FlightAgent:
    `curve` (curve, lap_s) when it begins, and `curve_over` (rms_m: position error by the estimates,
    once the curve is flown at full rate).
    """

    MEMORY = (*FlightAgent.MEMORY, "_begun_us", "_squares", "_count")
    period_us = 8_000

    def __init__(
        self,
        n: int = 1,
        curve: Annotated[str, Option("the curve", choices=tuple(CURVES))] = "lemniscate",
        lap: Annotated[float, Option("time of a lap", unit="s", least=0.5, most=3600.0)] = 2
        * math.pi,
        laps: Annotated[int, Option("how often", least=1, most=10_000)] = 3,
        height: Annotated[float, Option("above the start", unit="m", least=0.5, most=1000.0)] = 3.0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: No such curve, or a number is not allowed.
        """
        if curve not in CURVES:
            raise XtdroneError(unknown_name("curve", curve, CURVES))
        super().__init__(n, height, on_event=on_event)
        self._name, (self._curve, _) = curve, CURVES[curve]
        self._rate = 2.0 * math.pi / lap
        self._duration = laps * lap + 0.5 * _RAMP_S
        self._begun_us: int | None = None
        self._squares, self._count = 0.0, 0

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Starts the clock of the curve."""
        self._begun_us = t_us
        self._squares, self._count = 0.0, 0
        self.event(t_us, "curve", curve=self._name, lap_s=2.0 * math.pi / self._rate)

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Sends the point of the curve for this time; returns True after the last lap."""
        assert self._begun_us is not None
        t = (t_us - self._begun_us) * 1e-6
        phase, rate, acceleration = self._phase_at(min(t, self._duration))
        point = self._curve(phase)
        out.pos[:] = self.home + [0.0, 0.0, self.height] + point.pos
        out.vel[:] = rate * point.first
        out.acc[:] = rate * rate * point.second + acceleration * point.first
        if t >= _RAMP_S:
            self._squares += float(((estimates.pos - out.pos) ** 2).sum(axis=1).mean())
            self._count += 1
        if t < self._duration:
            return False
        rms = math.sqrt(self._squares / max(self._count, 1))
        self.event(t_us, "curve_over", rms_m=round(rms, 4))
        return True

    def _phase_at(self, t: float) -> tuple[float, float, float]:
        """Returns phase [rad], its rate [rad/s] and acceleration [rad/s^2] at a time [s].

        The rate rises smoothly during _RAMP_S.
        """
        if t >= _RAMP_S:
            return self._rate * (t - 0.5 * _RAMP_S), self._rate, 0.0
        x = t / _RAMP_S
        # The integral of minimum_jerk(): x^6 - 3 x^5 + 5/2 x^4.
        area = x**6 - 3.0 * x**5 + 2.5 * x**4
        fraction, slope, _ = minimum_jerk(x)
        return self._rate * _RAMP_S * area, self._rate * fraction, self._rate * slope / _RAMP_S
