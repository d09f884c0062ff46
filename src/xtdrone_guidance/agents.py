"""Agents that follow curves."""

from collections.abc import Callable
from typing import Annotated

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.errors import XtdroneError, shown
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.options import Option
from xtdrone_dynamics.abilities.vehicle_type import half_winged
from xtdrone_dynamics.constants import GRAVITY

from .curves import CURVES, PATHS, Laps
from .fields import VectorField
from .minimum_snap import ORDERS, Limits, MinimumSnap
from .paths import SplinePath, read_path, read_points
from .planes import MIN_WIDTH, Steering, is_plane
from .reach import check_thrust, force_for
from .rms import RootMeanSquare
from .timed_path import TimedPath

_END_M = 0.1  # an open path is over so near to its end [m]
_ALONG = 2.0  # acceleration along an open path by name [m/s^2]
_LOOKED_AT = 300  # times at which the thrust is compared
_SHOWN = 120  # points of a path in its event


class TrajectoryAgent(FlightAgent):
    """Take-off, a trajectory by set-points of position, velocity and acceleration, landing.

    The trajectory is laps of a curve, or the one of least snap through points of a file, as fast as
    the limits allow. Each vehicle flies it from its own start. In addition to the events of
    FlightAgent: `curve` (curve, duration_s) when it begins, and `curve_over` (rms_m: position error
    by the estimates).
    """

    MEMORY = (*FlightAgent.MEMORY, "_begun_us", "_rms")
    period_us = 8_000

    def __init__(
        self,
        n: int = 1,
        curve: Annotated[
            str, Option("name of a curve, or a .csv with x,y,z in metres in each row, or a .plan")
        ] = "lemniscate",
        lap: Annotated[
            float, Option("time of a lap of a curve", unit="s", minimum=0.5, maximum=3600.0)
        ] = 6.2832,
        laps: Annotated[int, Option("how often, of a curve", minimum=1, maximum=10_000)] = 3,
        minimise: Annotated[
            str, Option("between the points of a file", choices=tuple(ORDERS))
        ] = "snap",
        speed: Annotated[
            float,
            Option("largest, through points and in a loop", unit="m/s", minimum=0.1, maximum=30.0),
        ] = 5.0,
        thrust: Annotated[
            float, Option("largest over the weight, through points", minimum=1.01, maximum=10.0)
        ] = 1.5,
        body_rate: Annotated[
            float, Option("largest, through points", unit="rad/s", minimum=0.1, maximum=20.0)
        ] = 3.0,
        height: Annotated[
            float, Option("above the start", unit="m", minimum=0.5, maximum=1000.0)
        ] = 3.0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: No such curve or file, or a number is not allowed.
        """
        super().__init__(n, height, on_event=on_event)
        self._name = curve
        self._planned: Laps | TimedPath | MinimumSnap
        if curve in CURVES:
            self._planned = Laps(CURVES[curve][0], lap, laps)
        elif curve in PATHS:
            self._planned = TimedPath(SplinePath(PATHS[curve][0], False), speed, _ALONG)
        else:
            limits = Limits(speed, thrust, body_rate)
            self._planned = MinimumSnap(read_points(curve, "curve", height), limits, minimise)
        self._begun_us: int | None = None
        self._rms = RootMeanSquare()

    def attach(self, flight: Flight) -> None:
        """Compares the trajectory with the thrust of the vehicles.

        Raises:
            XtdroneError: A vehicle has less than it needs.
        """
        times = np.linspace(0.0, self._planned.duration, _LOOKED_AT)
        accelerations = np.array([self._planned.at(float(t)).acc for t in times])
        force = np.linalg.norm(accelerations / GRAVITY + [0.0, 0.0, 1.0], axis=1).max()
        what = f"trajectory {shown(self._name)}"
        check_thrust(flight.fleet, float(force), what, "fly it more slowly")

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Starts the clock of the trajectory."""
        self._begun_us = t_us
        self._rms.clear()
        self.event(t_us, "curve", curve=self._name, duration_s=round(self._planned.duration, 3))

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Sends the point for this time; returns True at the end."""
        assert self._begun_us is not None
        t = (t_us - self._begun_us) * 1e-6
        planned = self._planned.at(min(t, self._planned.duration))
        out.pos[:] = self.home + [0.0, 0.0, self.height] + planned.pos
        out.vel[:] = planned.vel
        out.acc[:] = planned.acc
        if t >= self._planned.settled:
            self._rms.add(estimates.pos - out.pos)
        if t < self._planned.duration:
            return False
        self.event(t_us, "curve_over", rms_m=round(self._rms.value, 4))
        return True


class GuidanceAgent(FlightAgent):
    """Take-off, laps of a path by the vector field around it, landing.

    The field gives velocity and acceleration by the place alone: a vehicle that is blown off comes
    back to the path, not to where it should have been. Each vehicle flies the path from its own
    start. Planes take off and land by AUTO.TAKEOFF and AUTO.LAND, join the path where it is nearest
    and follow it at their own airspeed; see planes.py. In addition to the events of FlightAgent:
    `path` (points, closed, length_m, starts, and the options speed, acceleration, width) when it
    begins, and `path_over` (rms_m: distance from the path by the estimates, once it was reached).

    Attributes:
        path: The path, from the start of each vehicle.
    """

    MEMORY = (*FlightAgent.MEMORY, "_arc_lengths", "_flown", "_reached", "_rms")

    def __init__(
        self,
        n: int = 1,
        path: Annotated[
            str, Option("name of a curve, or a .csv with x,y,z in metres in each row, or a .plan")
        ] = "eight",
        closed: Annotated[bool, Option("whether the path of a file is closed")] = False,
        speed: Annotated[float, Option("largest", unit="m/s", minimum=0.1, maximum=30.0)] = 3.0,
        acceleration: Annotated[
            float,
            Option("largest, across and along the path", unit="m/s^2", minimum=0.1, maximum=30.0),
        ] = 3.0,
        along: Annotated[
            float,
            Option(
                "largest along the path, apart from that across it; 0 = of both together",
                unit="m/s^2",
                minimum=0.0,
                maximum=30.0,
            ),
        ] = 0.0,
        width: Annotated[
            float,
            Option(
                "distance from the path at which the field points half towards it",
                unit="m",
                minimum=0.05,
                maximum=100.0,
            ),
        ] = 1.0,
        laps: Annotated[int, Option("how often, of a closed path", minimum=1, maximum=10_000)] = 2,
        height: Annotated[
            float, Option("above the start", unit="m", minimum=0.5, maximum=1000.0)
        ] = 3.0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: The path cannot be read or flown.
        """
        super().__init__(n, height, on_event=on_event)
        self.path = read_path(path, closed, height)
        self._field = VectorField(self.path, speed, acceleration, width, along or None)
        self._steering = Steering(self.path, max(width, MIN_WIDTH))
        lowest = height + self.path.points[:, 2].min()
        if lowest < 0.3:
            raise XtdroneError(
                f"the path descends to {lowest:.2f} m above the start: give a height of "
                f"{height - lowest + 0.5:.1f} m or more"
            )
        self._distance = self.path.length * (laps if self.path.closed else 1)
        self._arc_lengths = np.full(n, np.nan)  # place of each on the path [m]; NaN = none yet
        self._flown = np.zeros(n)  # length of the path that each has flown [m]
        self._reached = np.zeros(n, dtype=np.bool_)  # whether each has come to the path
        self._rms = RootMeanSquare()

    def attach(self, flight: Flight) -> None:
        """Finds out whether planes fly, and whether the rotors of others hold it in its bends.

        Raises:
            XtdroneError: Planes are not alone, or a vehicle cannot fly the path.
        """
        planes = is_plane(flight.fleet)
        self.on_wings = bool(planes.any())
        if not self.on_wings:
            if not half_winged(flight.fleet).any():  # whose wings turn them
                force = force_for(self.path.sharpest(self._field.speed, self._field.acceleration))
                what = f"a bend of the path at acceleration {self._field.acceleration:g} m/s^2"
                check_thrust(flight.fleet, force, what, "give less")
            return
        if not planes.all():
            raise XtdroneError("planes follow a path without other vehicles: fly these apart")
        self._steering.check(self.height)

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Reports the path, as an event."""
        points = self.path.points[:-1] if self.path.closed else self.path.points
        shown = np.linspace(0, len(points) - 1, _SHOWN).astype(int)
        self._arc_lengths[:], self._flown[:], self._reached[:] = np.nan, 0.0, False
        self._rms.clear()
        self.event(
            t_us,
            "path",
            points=np.round(points[shown], 3).tolist(),
            closed=self.path.closed,
            length_m=round(self.path.length, 3),
            starts=np.round(self.home + [0.0, 0.0, self.height], 3).tolist(),
            speed=self._field.speed,
            acceleration=self._field.acceleration,
            width=self._field.width,
        )

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Sends what the field asks for; returns True once all have flown the path."""
        start = self.home + [0.0, 0.0, self.height]
        for i in range(self.n):
            if self._flown[i] >= self._distance:
                out.pos[i] = start[i] + self.path.at(self._distance).pos
                continue
            near = None if np.isnan(self._arc_lengths[i]) else float(self._arc_lengths[i])
            place = estimates.pos[i] - start[i]
            if self.on_wings:
                steered = self._steering.at(place, estimates.vel[i], near)
                out.pos[i], out.vel[i], out.acc[i] = (
                    start[i] + steered.pos,
                    steered.vel,
                    steered.acc,
                )
                nearest, joined = steered.nearest, steered.joined
            else:
                guided = self._field.at(place, near)
                out.vel[i], out.acc[i] = guided.vel, guided.acc
                nearest, joined = guided.nearest, guided.distance < 0.1 * self._field.width
            self._advance(i, nearest.arc_length)
            self._reached[i] |= joined
            if self._reached[i]:
                self._rms.add(nearest.pos - place)
        if (self._flown < self._distance).any():
            return False
        self.event(t_us, "path_over", rms_m=round(self._rms.value, 4))
        return True

    def _advance(self, i: int, arc_length: float) -> None:
        """Counts how much of the path vehicle i has flown."""
        length = self.path.length
        if not np.isnan(self._arc_lengths[i]):
            step = arc_length - self._arc_lengths[i]
            self._flown[i] += (
                (step + 0.5 * length) % length - 0.5 * length if self.path.closed else step
            )
        self._arc_lengths[i] = arc_length
        if not self.path.closed and length - arc_length < _END_M:
            self._flown[i] = self._distance
