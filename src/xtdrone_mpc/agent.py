"""An Agent that flies curves and race tracks by sampling model predictive control."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.errors import XtdroneError, unknown_name
from xtdrone_core.flight_agent import FlightAgent, minimum_jerk
from xtdrone_core.racing.laps import Laps as RaceLaps
from xtdrone_core.racing.track import MAX_LAPS, read_track
from xtdrone_core.scenario.options import Option
from xtdrone_guidance.curves import CURVES, Laps
from xtdrone_guidance.rms import RootMeanSquare

from .costs import check_finite, load_cost
from .mppi import PERIOD_S, Mppi, MppiSettings
from .race import RacePath

_LAPS = 2  # of a curve, unless something else is asked for
_RUN_UP_M = 2.0  # from the start of a race to the first gate [m]
_APPROACH = 2.0  # average speed to the start of a race [m/s]
_WAIT_S = 1.0  # there [s]
_BRAKING = 4.0  # behind the finish [m/s^2]
_STANDS = 0.2  # speed at which it is over [m/s]
_RACE_RATES = 4.0, 4.0, 1.0  # largest in a race [rad/s]


class MppiAgent(FlightAgent):
    """Take-off, laps of a curve or of the scenario's track, landing.

    Every 20 ms thousands of futures of body rates and thrust are flown with the vehicle's own
    physics, and the best are averaged. In addition to the events of FlightAgent: `curve` when it
    begins, and `curve_over` (rms_m: position error by the estimates); on a track `race` (lap_m).
    """

    MEMORY = (
        *FlightAgent.MEMORY,
        "_begun_us",
        "_finished_us",
        "_rms",
        "_mppi",
        "_path",
        "_flown",
        "_finish_speed",
    )

    def __init__(
        self,
        n: int = 1,
        curve: Annotated[
            str, Option("the curve, without a track", choices=tuple(CURVES))
        ] = "eight",
        lap: Annotated[
            float, Option("time of a lap of a curve", unit="s", minimum=0.5, maximum=3600.0)
        ] = 6.2832,
        laps: Annotated[
            int | None,
            Option("how often", minimum=1, maximum=MAX_LAPS, unset=f"{_LAPS}, or the track's"),
        ] = None,
        cost: Annotated[
            str,
            Option(
                "of a future: follow, race, or FILE.py:function of a compiled function",
                unset="follow, or race on a track",
            ),
        ] = "",
        rollouts: Annotated[
            int, Option("futures that are tried at each decision", minimum=8, maximum=1 << 20)
        ] = 1024,
        horizon: Annotated[
            int | None,
            Option("actions of 20 ms in each", minimum=2, maximum=1000, unset="30, on a track 40"),
        ] = None,
        part: Annotated[
            float, Option("of a track's openings that are used", minimum=0.01, maximum=1.0)
        ] = 0.4,
        width: Annotated[
            float,
            Option(
                "from the smooth path of a track, at most", unit="m", minimum=0.1, maximum=100.0
            ),
        ] = 1.5,
        speed: Annotated[
            float, Option("largest on a track", unit="m/s", minimum=0.5, maximum=100.0)
        ] = 30.0,
        height: Annotated[
            float, Option("above the start, of a curve", unit="m", minimum=0.5, maximum=1000.0)
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
        self._name, self._asked = curve, laps
        self._curve = Laps(CURVES[curve][0], lap, laps or _LAPS)
        self._cost_name, self._rollouts, self._horizon = cost, rollouts, horizon
        self._part, self._width, self._speed = part, width, speed
        if cost:
            load_cost(cost)
        self._start = np.zeros(3)  # of a race [m]
        self._settings = MppiSettings()
        self._path: RacePath | None = None  # of a track
        self._flown: RaceLaps | None = None  # laps of it, by the estimates
        self._mppi: Mppi | None = None
        self._begun_us = 0
        self._finished_us: int | None = None  # a race
        self._finish_speed = 0.0  # [m/s]
        self._rms = RootMeanSquare()

    def attach(self, flight: Flight) -> None:
        """Builds the futures for the vehicle of the flight.

        Raises:
            XtdroneError: The cost is not finite, or the vehicle does not fly body rates.
        """
        scenario = flight.scenario
        settings = MppiSettings(rollouts=self._rollouts, horizon=self._horizon or 30)
        name, at = self._cost_name or "follow", np.array([0.0, 0.0, self.height])
        if scenario.track:
            track = read_track(scenario.track)
            self._asked = self._asked or track.laps
            self._flown = RaceLaps(replace(track, laps=self._asked), 1)
            self._path = RacePath(track, self._part, self._width)
            settings = replace(settings, horizon=self._horizon or 40, max_rates=_RACE_RATES)
            name = self._cost_name or "race"
            self._start = self._path.lap.at(np.array([-_RUN_UP_M]))[0][0]
            at = self._start
            self.height = float(max(self._start[2] - scenario.vehicles[0].pos[2], 0.5))
        self._settings, cost = settings, load_cost(name)
        check_finite(cost, name, self._references(0.0)[0], at)
        self._mppi = Mppi(cost, scenario.vehicles[0].type, settings, scenario.seed)

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns the laps of a track that it has flown, by its estimates."""
        if self._flown is None:
            return {}
        return {"laps": (len(self._flown.flown[0]), self._asked or 0)}

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Starts the clock."""
        assert self._mppi is not None
        self._mppi.begin()
        self._begun_us, self._finished_us = t_us, None
        self._rms.clear()
        if self._path is None:
            duration = round(self._curve.duration, 3)
            self.event(t_us, "curve", curve=self._name, duration_s=duration)
        else:
            self._path.place = -_RUN_UP_M
            self.event(t_us, "race", lap_m=round(self._path.lap.length, 2))

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Decides for the next 20 ms; returns True at the end."""
        if self._path is not None:
            return self._race(self._path, t_us, estimates, out)
        t = (t_us - self._begun_us) * 1e-6
        origin = self.home[0]  # the batch has its ground at the start's height
        self._decide(t, estimates, origin, out)
        self._rms.add(estimates.pos[0] - origin - self._planned(t)[:3])
        if t < self._curve.duration:
            return False
        self.event(t_us, "curve_over", rms_m=round(self._rms.value, 4))
        return True

    def _decide(self, t: float, estimates: Estimates, origin: np.ndarray, out: SetPoints) -> None:
        """Tries futures from the estimated state, and sends the first action of the best."""
        assert self._mppi is not None
        action = self._mppi.decide(
            estimates.pos[0] - origin,
            estimates.quat[0],
            estimates.vel[0],
            estimates.ang_vel[0],
            self._references(t),
        )
        out.clear()
        out.rates[0] = action[:3]
        out.force[0] = 0.0, 0.0, self._mppi.thrust(action[3])

    def _race(self, path: RacePath, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Goes to the start, through the gates, and brakes behind the last."""
        assert self._flown is not None and self._asked is not None
        self._flown.step(t_us, estimates.pos)
        away = self._start - self.home[0] - [0.0, 0.0, self.height]
        to_start = max(float(np.linalg.norm(away)) / _APPROACH, 1.0)
        since = (t_us - self._begun_us) * 1e-6
        if since < to_start + _WAIT_S:
            s, ds, dds = minimum_jerk(since / to_start)
            out.pos[0] = self._start - (1.0 - s) * away
            out.vel[0], out.acc[0] = ds / to_start * away, dds / to_start**2 * away
            return False
        path.find(estimates.pos[0])
        self._decide(t_us * 1e-6, estimates, np.zeros(3), out)
        if self._finished_us is None and self._flown.lap[0] > self._asked:
            self._finished_us = t_us
            self._finish_speed = float(np.linalg.norm(estimates.vel[0]))
        return self._finished_us is not None and bool(self._speeds(t_us * 1e-6)[0] <= _STANDS)

    def _speeds(self, t_s: float) -> np.ndarray:
        """Returns the largest speeds in a race after each action (H,): behind its finish it brakes.

        Args:
            t_s: Simulated time [s].
        """
        times = t_s + PERIOD_S * np.arange(1, self._settings.horizon + 1)
        if self._finished_us is None:
            return np.full_like(times, self._speed)
        braked: np.ndarray = np.maximum(
            self._finish_speed - _BRAKING * (times - self._finished_us * 1e-6), 0.0
        )
        return braked

    def _references(self, t: float) -> np.ndarray:
        """Returns what the cost compares with after each action, (H, R).

        Args:
            t: Since the curve began, or on a track simulated time [s].
        """
        count = self._settings.horizon
        if self._path is not None:
            return self._path.references(t, count, self._speeds(t))
        return np.array([self._planned(t + (k + 1) * PERIOD_S) for k in range(count)])

    def _planned(self, t: float) -> np.ndarray:
        """Returns position from the start on the ground [m] and velocity [m/s] at a time, (6,)."""
        planned = self._curve.at(min(t, self._curve.duration))
        return np.concatenate([planned.pos + [0.0, 0.0, self.height], planned.vel])
