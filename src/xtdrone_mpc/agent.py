"""An Agent that flies curves by sampling model predictive control."""

from collections.abc import Callable
from typing import Annotated

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.errors import XtdroneError, unknown_name
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.options import Option
from xtdrone_guidance.curves import CURVES, Laps
from xtdrone_guidance.rms import RootMeanSquare

from .costs import check_finite, load_cost
from .mppi import PERIOD_S, Mppi, MppiSettings


class MppiAgent(FlightAgent):
    """Take-off, laps of a curve by sampling model predictive control, landing.

    Every 20 ms thousands of futures of body rates and thrust are flown with the vehicle's own
    physics, and the best are averaged. In addition to the events of FlightAgent: `curve` when it
    begins, and `curve_over` (rms_m: position error by the estimates).
    """

    MEMORY = (*FlightAgent.MEMORY, "_begun_us", "_rms", "_mppi")

    def __init__(
        self,
        n: int = 1,
        curve: Annotated[str, Option("the curve", choices=tuple(CURVES))] = "eight",
        lap: Annotated[
            float, Option("time of a lap", unit="s", minimum=0.5, maximum=3600.0)
        ] = 6.2832,
        laps: Annotated[int, Option("how often", minimum=1, maximum=10_000)] = 2,
        cost: Annotated[
            str, Option("of a future: follow, or module:function of a compiled function")
        ] = "follow",
        rollouts: Annotated[
            int, Option("futures that are tried at each decision", minimum=8, maximum=1 << 20)
        ] = 1024,
        horizon: Annotated[int, Option("actions of 20 ms in each", minimum=2, maximum=1000)] = 30,
        height: Annotated[
            float, Option("above the start", unit="m", minimum=0.5, maximum=1000.0)
        ] = 3.0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares one vehicle; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: There is more than one vehicle, no such curve, or a cost is not finite.
        """
        if n != 1:
            raise XtdroneError(f"n = {n} is not allowed: agent mppi flies one vehicle")
        if curve not in CURVES:
            raise XtdroneError(unknown_name("curve", curve, CURVES))
        super().__init__(n, height, on_event=on_event)
        self._name, self._laps = curve, Laps(CURVES[curve][0], lap, laps)
        self._settings = MppiSettings(rollouts=rollouts, horizon=horizon)
        self._cost = load_cost(cost)
        check_finite(self._cost, cost, self._references(0.0)[0])
        self._mppi: Mppi | None = None
        self._begun_us = 0
        self._rms = RootMeanSquare()

    def attach(self, flight: Flight) -> None:
        """Builds the futures for the vehicle of the flight."""
        scenario = flight.scenario
        self._mppi = Mppi(self._cost, scenario.vehicles[0].type, self._settings, scenario.seed)

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Starts the clock of the curve."""
        assert self._mppi is not None
        self._mppi.begin()
        self._begun_us = t_us
        self._rms.clear()
        self.event(t_us, "curve", curve=self._name, duration_s=round(self._laps.duration, 3))

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Decides for the next 20 ms; returns True at the end."""
        assert self._mppi is not None
        t = (t_us - self._begun_us) * 1e-6
        pos = estimates.pos[0] - self.home[0]  # the batch has its ground at the start's height
        action = self._mppi.decide(
            pos, estimates.quat[0], estimates.vel[0], estimates.ang_vel[0], self._references(t)
        )
        out.rates[0] = action[:3]
        out.force[0] = 0.0, 0.0, self._mppi.thrust(action[3])
        self._rms.add(pos - self._planned(t)[:3])
        if t < self._laps.duration:
            return False
        self.event(t_us, "curve_over", rms_m=round(self._rms.value, 4))
        return True

    def _references(self, t: float) -> np.ndarray:
        """Returns position and velocity of the curve after each action, (H, 6)."""
        count = self._settings.horizon
        return np.array([self._planned(t + (k + 1) * PERIOD_S) for k in range(count)])

    def _planned(self, t: float) -> np.ndarray:
        """Returns position from the start on the ground [m] and velocity [m/s] at a time, (6,)."""
        planned = self._laps.at(min(t, self._laps.duration))
        return np.concatenate([planned.pos + [0.0, 0.0, self.height], planned.vel])
