"""An Agent that flies a race track by itself."""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np

from xtdrone_autopilot.parameters import file as parameter_file
from xtdrone_autopilot.parameters.store import parameter
from xtdrone_core import Estimates, Scenario, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.errors import XtdroneError
from xtdrone_core.flight_agent import FlightAgent, minimum_jerk
from xtdrone_core.racing.laps import Laps
from xtdrone_core.racing.track import MAX_LAPS, Track, read_track
from xtdrone_core.scenario.options import Option
from xtdrone_guidance.reach import check_thrust, force_for
from xtdrone_guidance.time_optimal.dynamics import Multirotor
from xtdrone_guidance.time_optimal.tracking import Tracker

from .race_path import Course, TimedCourse

_APPROACH = 2.0  # average speed to the start [m/s]
_WAIT_US = 1_000_000  # wait at the start [us]
_TRACKING_PERIOD_US = 4_000  # between two commands of a time-optimal flight [us]
_YAW_RATE = 0.3  # about the body's z axis in a time-optimal plan [rad/s]
_BODY_RATE = 8.0  # largest of a time-optimal plan [rad/s]
_PART_OF_LIMIT = 0.8  # of the vehicle's limit of body rates
_THRUST = 0.8  # part of the rotors' that a time-optimal plan uses
_WEIGHT_LEFT = 0.56  # thrust that it leaves, over the weight: drag and gusts need it
_MIN_TURN_SPEED = 0.3  # the nose follows the path above this speed [m/s]


class RaceAgent(FlightAgent):
    """Flies one vehicle through the gates of the scenario's track, then lands it.

    It follows a smooth path through the middles of the gates, or the plan of least time through
    them, by set-points of position, velocity and acceleration. In addition to the events of
    FlightAgent: `race` (lap_m, planned_s). The simulation itself times the laps.
    """

    MEMORY = (*FlightAgent.MEMORY, "_begun_us", "_laps")

    def __init__(
        self,
        n: int = 1,
        speed: Annotated[
            float, Option("largest on the path", unit="m/s", minimum=0.5, maximum=30.0)
        ] = 5.0,
        acceleration: Annotated[
            float,
            Option(
                "largest across the path, and along it", unit="m/s^2", minimum=0.2, maximum=30.0
            ),
        ] = 4.0,
        plan: Annotated[
            str,
            Option(
                "a smooth path through the middles, or the least time that the rotors allow",
                choices=("smooth", "time_optimal"),
            ),
        ] = "smooth",
        thrust: Annotated[
            float | None,
            Option(
                "part of the rotors' that a time-optimal plan uses",
                minimum=0.3,
                maximum=1.0,
                unset="0.8, and 0.56 of the weight are left",
            ),
        ] = None,
        body_rate: Annotated[
            float | None,
            Option(
                "largest of a time-optimal plan",
                unit="rad/s",
                minimum=0.5,
                maximum=30.0,
                unset="8, or 0.8 of the vehicle's MC_ROLLRATE_MAX and MC_PITCHRATE_MAX",
            ),
        ] = None,
        tilt: Annotated[
            float, Option("largest of a time-optimal plan", unit="deg", minimum=10.0, maximum=180.0)
        ] = 180.0,
        part: Annotated[
            float,
            Option(
                "of openings and balls that a time-optimal plan uses", minimum=0.01, maximum=1.0
            ),
        ] = 0.2,
        floor: Annotated[
            float,
            Option("least height of a time-optimal plan", unit="m", minimum=0.05, maximum=1000.0),
        ] = 0.6,
        laps: Annotated[
            int | None, Option("how often", minimum=1, maximum=MAX_LAPS, unset="the track's")
        ] = None,
        on_event: Callable[..., None] | None = None,
    ):
        """Begins on the ground; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: There is more than one vehicle.
        """
        if n != 1:
            raise XtdroneError(f"n = {n} is not allowed: agent race flies one vehicle")
        super().__init__(n, 1.0, on_event=on_event)
        self._speed, self._acceleration, self._asked = speed, acceleration, laps
        self._plan, self._thrust, self._part, self._floor = plan, thrust, part, floor
        if plan == "time_optimal":
            self.period_us = _TRACKING_PERIOD_US
        self._body_rate, self._tilt = body_rate, math.radians(tilt)
        self._track: Track | None = None
        self._course: Course | TimedCourse | None = None
        self._tracker: Tracker | None = None  # of a time-optimal plan
        self._laps: Laps | None = None  # laps by the estimates
        self._begun_us = 0

    def attach(self, flight: Flight) -> None:
        """Plans the flight along the scenario's track.

        Raises:
            XtdroneError: It has none, or one whose gates move.
        """
        if not flight.scenario.track:
            raise XtdroneError("agent race needs a track: give --track NAME, such as eight")
        self._track = track = read_track(flight.scenario.track)
        if track.moving:
            raise XtdroneError(
                f"gate {track.moving[0] + 1} of track '{track.name}' moves, and agent race flies "
                "where it stands: fly it by agent mppi"
            )
        self._asked = self._asked or track.laps
        if self._plan == "smooth":
            check_thrust(
                flight.fleet,
                force_for(self._acceleration),
                f"acceleration {self._acceleration:g} m/s^2",
                "give less",
            )
        smooth = Course(track, self._asked, self._speed, self._acceleration)
        self._course = smooth
        if self._plan == "time_optimal":
            largest = self._largest_rate(flight.scenario)
            rates = largest, largest, _YAW_RATE
            planned = self._planned(flight, rates)
            timed = TimedCourse(smooth, track, self._asked, planned, self._part, self._floor)
            self._course, self._tracker = (
                timed,
                Tracker(timed.plan, Multirotor.of(flight.fleet, rates)),
            )
        self._laps = Laps(track, 1)
        self.height = float(max(self._course.start[2] - flight.scenario.vehicles[0].pos[2], 0.5))

    def _largest_rate(self, scenario: Scenario) -> float:
        """Returns the largest body rate of a plan [rad/s].

        Raises:
            XtdroneError: The vehicle's parameters do not allow what was asked for.
        """
        limit = _rate_limit(scenario)
        if self._body_rate is None:
            return min(_BODY_RATE, _PART_OF_LIMIT * limit)
        if self._body_rate > limit:
            raise XtdroneError(
                f"body_rate {self._body_rate:g} rad/s is above MC_ROLLRATE_MAX or MC_PITCHRATE_MAX "
                f"of {scenario.vehicles[0].name}, {limit:.2f} rad/s: give less, or other "
                "parameters by --params"
            )
        return self._body_rate

    def _planned(self, flight: Flight, rates: tuple[float, float, float]) -> Multirotor:
        """Returns what a plan may use of the vehicle: what is left keeps it on its path."""
        if self._thrust is not None:
            return Multirotor.of(flight.fleet, rates, self._tilt, self._thrust)
        whole = Multirotor.of(flight.fleet, rates, self._tilt)
        left = max(1.0 - _THRUST, _WEIGHT_LEFT / whole.thrust_to_weight)
        return Multirotor.of(flight.fleet, rates, self._tilt, 1.0 - left)

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns the laps that it has flown, by its estimates."""
        return {"laps": (len(self._laps.flown[0]) if self._laps else 0, self._asked or 0)}

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Starts towards the first gate."""
        assert self._course is not None
        self._begun_us = t_us
        self.event(
            t_us,
            "race",
            planned_s=round(self._course.duration, 2),
            lap_m=round(self._course.lap, 2),
        )

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Goes to the start, then along the path."""
        course, laps = self._course, self._laps
        assert course is not None and laps is not None
        laps.step(t_us, estimates.pos)
        away = course.start - self.home[0] - [0.0, 0.0, self.height]
        to_start = max(float(np.linalg.norm(away)) / _APPROACH, 1.0)
        since = (t_us - self._begun_us) * 1e-6
        flown = since - to_start - _WAIT_US * 1e-6
        if flown < 0.0:
            s, ds, dds = minimum_jerk(since / to_start)
            out.pos[0] = course.start - (1.0 - s) * away
            out.vel[0], out.acc[0] = ds / to_start * away, dds / to_start**2 * away
            vel = course.at(0.5)[1]
        elif self._tracker is not None and flown < course.duration:
            assert self._yaw is not None
            rates, thrust = self._tracker.command(
                flown, estimates.pos[0], estimates.quat[0], estimates.vel[0], float(self._yaw[0])
            )
            out.clear()
            out.rates[0], out.force[0] = rates, (0.0, 0.0, thrust)
            return False
        else:
            out.pos[0], out.vel[0], out.acc[0] = course.at(flown)
            vel = out.vel[0]
        if self._plan == "smooth" and math.hypot(vel[0], vel[1]) > _MIN_TURN_SPEED:
            self._yaw = np.array([math.atan2(vel[1], vel[0])])
        out.yaw[:] = self._yaw
        return flown > course.duration + 1.0


def _rate_limit(scenario: Scenario) -> float:
    """Returns the lesser of MC_ROLLRATE_MAX and MC_PITCHRATE_MAX of the first vehicle [rad/s]."""
    vehicle = scenario.vehicles[0]
    values = dict(parameter_file.of_model(vehicle.type))
    if scenario.params:
        values.update(parameter_file.of_scenario(scenario, vehicle.name)[0])
    names = "MC_ROLLRATE_MAX", "MC_PITCHRATE_MAX"
    return math.radians(min(values.get(name, parameter(name).default) for name in names))
