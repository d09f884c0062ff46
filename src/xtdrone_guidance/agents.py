"""Agents that follow curves."""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.errors import XtdroneError, unknown_name
from xtdrone_core.flight_agent import FlightAgent, minimum_jerk
from xtdrone_core.scenario.options import Option

from .curves import CURVES
from .fields import VectorField
from .paths import read_path

_END_M = 0.1  # an open path is over so near to its end [m]
_SHOWN = 120  # points of a path in its event
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


class GuidanceAgent(FlightAgent):
    """Take-off, laps of a path by the vector field around it, landing.

    The field tells velocity and acceleration by the place alone: a vehicle that is blown off comes
    back to the path, not to where it should have been. Each vehicle flies the path from its own
    start. In addition to the events of FlightAgent: `path` (points, closed, length_m, starts, and
    the options speed, acceleration, width) when it begins, and `path_over` (rms_m: distance from
    the path by the estimates, once it was reached).
    """

    MEMORY = (*FlightAgent.MEMORY, "_arc_lengths", "_flown", "_squares", "_count")

    def __init__(
        self,
        n: int = 1,
        path: Annotated[
            str, Option("name of a curve, or a .csv with x,y,z in metres in each row")
        ] = "eight",
        closed: Annotated[bool, Option("whether the path of a file is closed")] = False,
        speed: Annotated[float, Option("largest", unit="m/s", least=0.1, most=30.0)] = 3.0,
        acceleration: Annotated[
            float, Option("largest, across and along the path", unit="m/s^2", least=0.1, most=30.0)
        ] = 3.0,
        width: Annotated[
            float,
            Option(
                "distance from the path at which the field points half towards it",
                unit="m",
                least=0.05,
                most=100.0,
            ),
        ] = 1.0,
        laps: Annotated[int, Option("how often, of a closed path", least=1, most=10_000)] = 2,
        height: Annotated[float, Option("above the start", unit="m", least=0.5, most=1000.0)] = 3.0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: The path cannot be read or flown.
        """
        super().__init__(n, height, on_event=on_event)
        self._path = read_path(path, closed)
        self._field = VectorField(self._path, speed, acceleration, width)
        lowest = height + self._path.points[:, 2].min()
        if lowest < 0.3:
            raise XtdroneError(
                f"the path descends to {lowest:.2f} m above the start: give a height of "
                f"{height - lowest + 0.5:.1f} m or more"
            )
        self._width = width
        self._way = self._path.length * (laps if self._path.closed else 1)
        self._arc_lengths = np.full(n, np.nan)  # where on the path each vehicle is; NaN = not yet
        self._flown = np.zeros(n)  # how much of it
        self._squares, self._count = 0.0, 0

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Tells the path, as an event."""
        points = self._path.points[:-1] if self._path.closed else self._path.points
        shown = np.linspace(0, len(points) - 1, _SHOWN).astype(int)
        self._arc_lengths[:], self._flown[:] = np.nan, 0.0
        self._squares, self._count = 0.0, 0
        self.event(
            t_us,
            "path",
            points=np.round(points[shown], 3).tolist(),
            closed=self._path.closed,
            length_m=round(self._path.length, 3),
            starts=np.round(self.home + [0.0, 0.0, self.height], 3).tolist(),
            speed=self._field.speed,
            acceleration=self._field.acceleration,
            width=self._width,
        )

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Sends what the field asks for; returns True once all have flown the path."""
        start = self.home + [0.0, 0.0, self.height]
        for i in range(self.n):
            if self._flown[i] >= self._way:
                out.pos[i] = start[i] + self._path.at(self._way).pos
                continue
            near = self._arc_lengths[i]
            guided = self._field.at(
                estimates.pos[i] - start[i], None if np.isnan(near) else float(near)
            )
            self._advance(i, guided.nearest.arc_length)
            out.vel[i], out.acc[i] = guided.vel, guided.acc
            if self._count or guided.distance < 0.1 * self._width:
                self._squares += guided.distance**2
                self._count += 1
        if (self._flown < self._way).any():
            return False
        rms = math.sqrt(self._squares / max(self._count, 1))
        self.event(t_us, "path_over", rms_m=round(rms, 4))
        return True

    def _advance(self, i: int, arc_length: float) -> None:
        """Counts how much of the path vehicle i has flown."""
        length = self._path.length
        if not np.isnan(self._arc_lengths[i]):
            step = arc_length - self._arc_lengths[i]
            self._flown[i] += (
                (step + 0.5 * length) % length - 0.5 * length if self._path.closed else step
            )
        self._arc_lengths[i] = arc_length
        if not self._path.closed and length - arc_length < _END_M:
            self._flown[i] = self._way
