"""Agents that fly each vehicle by itself: a square, a hover, an uploaded mission."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from xtdrone_core import ARM, DISARM, KEEP, Estimates, Mode, SetPoints
from xtdrone_core.agent import BaseAgent
from xtdrone_core.contracts import Flight
from xtdrone_core.errors import XtdroneError
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.scenario.options import Option
from xtdrone_dynamics.abilities.vehicle_type import ROVER, vehicle_types
from xtdrone_sim.world import world_of, wrong_ground

_REACHED = 0.3  # acceptance radius of a corner [m]
_RETRY_US = 500_000  # time until a request that was not granted is sent again [us]
_LOITER_US = 3_000_000  # time in AUTO.LOITER after which a mission in the air is over [us]
_REST_SPEED = 0.15  # a vehicle at rest is slower [m/s]
_SLIDE_US = 15_000_000  # a plane that lands at 8 m/s on its belly takes 13 s to come to rest [us]


class SquareAgent(FlightAgent):
    """Take-off to 3 m, a 4 m square by OFFBOARD position set-points, landing.

    Every vehicle flies a square of its own, counter-clockwise from its start. In addition to the
    events of FlightAgent: `corner` (index 1 to 4, set-point of each vehicle), once all vehicles
    have held the corner for the time `hold`.
    """

    MEMORY = (*FlightAgent.MEMORY, "_index", "_reached", "_asked_at", "_inside_us")

    def __init__(
        self,
        n: int = 1,
        side: Annotated[
            float, Option("length of a side", unit="m", minimum=0.1, maximum=1000.0)
        ] = 4.0,
        height: Annotated[
            float, Option("above the start", unit="m", minimum=0.5, maximum=1000.0)
        ] = 3.0,
        hold: Annotated[
            float, Option("time to hold each corner", unit="s", minimum=0.0, maximum=3600.0)
        ] = 2.0,
        time_out: Annotated[
            float,
            Option(
                "after which a corner that was not reached is skipped",
                unit="s",
                minimum=0.1,
                maximum=3600.0,
            ),
        ] = 20.0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares a square of n vehicles; on_event(t_us, name, **values) is called at each event.

        Raises:
            XtdroneError: The height is not allowed.
        """
        super().__init__(n, height, land_from=height, on_event=on_event)
        self._corners = side * np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0.0]])
        self._index = self._reached = 0
        self._hold_us = round(hold * 1e6)
        self._time_out = round(time_out * 1e6)
        self._asked_at = 0
        self._inside_us: int | None = None

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Starts the clock of the first corner."""
        self._asked_at = t_us

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns the corners that all vehicles have held."""
        return {"corners": (self._reached, len(self._corners))}

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Sends the current corner; goes on to the next once all vehicles have held it."""
        out.pos[:] = self.home + self._corners[self._index] + [0.0, 0.0, self.height]
        away = np.linalg.norm(estimates.pos - out.pos, axis=1).max() > _REACHED
        if away:
            self._inside_us = None
        elif self._inside_us is None:
            self._inside_us = t_us
        stayed = self._inside_us is not None and t_us - self._inside_us >= self._hold_us
        if not stayed and t_us - self._asked_at < self._time_out:
            return False
        self._index += 1
        self._reached += bool(stayed)
        self.event(
            t_us, "corner", index=self._index, reached=stayed, place=np.round(out.pos, 3).tolist()
        )
        self._asked_at, self._inside_us = t_us, None
        return self._index == len(self._corners)


class HoverAgent(BaseAgent):
    """Climbs vertically in OFFBOARD and hovers until the run ends.

    For benchmarks and tests that need a flying fleet. Override offset() to move it.
    """

    MEMORY = ("_pads", "_out")

    def __init__(
        self,
        n: int = 1,
        height: Annotated[
            float, Option("above the start", unit="m", minimum=0.1, maximum=10e3)
        ] = 3.0,
        yaw: Annotated[
            float, Option("counter-clockwise from east", unit="rad", unset="unchanged")
        ] = math.nan,
    ):
        """Prepares n vehicles that hover."""
        self._height, self._yaw = height, yaw
        self._out = SetPoints.empty(n)
        self._pads = np.full((n, 3), np.nan)  # NaN where a vehicle was not ready yet
        self.remember_start()

    def offset(self, t_us: int) -> tuple[float, float, float]:
        """Returns the position set-point relative to the start, world [m]."""
        return 0.0, 0.0, self._height

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Returns set-points of the fleet; none before every vehicle is ready to arm."""
        out = self._out
        out.mode.fill(KEEP)
        out.arm.fill(KEEP)
        waits = np.isnan(self._pads[:, 0])
        if waits.any() and estimates.ready[waits].all():
            self._pads[waits] = estimates.pos[waits]
            waits[:] = False
        out.pos[:] = self._pads + self.offset(t_us)
        out.yaw[:] = np.where(waits, math.nan, self._yaw)
        idle = ~estimates.armed & ~waits
        out.mode[idle], out.arm[idle] = Mode.OFFBOARD, ARM
        return out


class MissionAgent(BaseAgent):
    """Arms, switches to AUTO.MISSION and waits until every vehicle has landed.

    The missions are on the vehicles already: from --mission, or uploaded. A vehicle whose mission
    ends in the air, that stays at an item without an end or after its return, or that goes round
    for ever, is landed where it is; rovers and boats, which have no landing, are disarmed where
    they stop. Events: `armed`,
    `waypoint` (index of the vehicle, reached, of how many), `ends_early` (index, why),
    `mission_over` (index), `landed`.
    """

    MEMORY = (
        "done",
        "_asked_us",
        "_begun",
        "_over",
        "_loitering_us",
        "_start_us",
        "_reached",
        "_ends_early",
        "_over_us",
    )
    period_us = 100_000  # time between two checks of a mission's state [us]

    def __init__(
        self,
        n: int = 1,
        time_out: Annotated[
            float, Option("of arming checks and arming", unit="s", minimum=1.0, maximum=3600.0)
        ] = 60.0,
        longest: Annotated[
            float, Option("in which the missions must be over", unit="s", minimum=1.0, maximum=1e6)
        ] = 3600.0,
        on_event: Callable[..., None] | None = None,
    ):
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event."""
        self.done = False
        self._out = SetPoints.empty(n)
        self._on_event = on_event or (lambda t_us, name, **values: None)
        self._time_out_us, self._longest_us = round(time_out * 1e6), round(longest * 1e6)
        self._asked_us = -_RETRY_US
        self._begun = np.zeros(n, dtype=bool)  # armed in AUTO.MISSION
        self._over = np.zeros(n, dtype=bool)  # landed and disarmed again
        self._loitering_us = np.full(n, -1)  # time since which it is in AUTO.LOITER, -1 = it is not
        self._reached = np.zeros(n, dtype=int)  # waypoints
        self._ends_early = np.zeros(n, dtype=bool)  # said to do so
        self._missing_said = False  # that vehicles have no mission
        self._start_us: int | None = None
        self._over_us = -1  # time at which the last mission was over, -1 = not yet
        self.health: Callable[[], Sequence[Mapping[str, Any]]] = list  # none is known
        self.drives = np.zeros(n, dtype=bool)
        self.remember_start()

    def attach(self, flight: Flight) -> None:
        """Takes from the autopilot how far the missions are, and what drives.

        Raises:
            XtdroneError: A boat is not on water, or a rover is.
        """
        world = world_of(flight.scenario)
        for vehicle in flight.fleet.vehicles:
            if reason := wrong_ground(world, vehicle):
                raise XtdroneError(reason)
        self.health = flight.autopilot.health
        self.drives = vehicle_types(flight.fleet) == ROVER

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns the missions flown until the vehicle disarmed, and their waypoints."""
        counts = {"missions": (int(self._over.sum()), len(self._over))}
        states = self._states()
        if states:
            asked = sum(state["waypoints"][1] for state in states)
            counts["waypoints"] = (int(self._reached.sum()), asked)
        return counts

    def _states(self) -> list[Mapping[str, Any]]:
        """Returns the health of each vehicle; [] if the autopilot does not count waypoints."""
        return [state for state in self.health() if "waypoints" in state]

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Returns requests to arm and to change mode, without set-points.

        Raises:
            XtdroneError: A vehicle does not begin its mission in time, or is not over in time.
        """
        out = self._out
        out.clear()
        if self.done:
            return out
        if self._start_us is None:
            self._start_us = t_us
        all_had_begun = self._begun.all()
        self._begun |= estimates.armed & (estimates.mode == Mode.MISSION)
        if not self._begun.all():
            self._start(t_us - self._start_us, t_us, estimates, out)
        elif not all_had_begun:
            self._on_event(t_us, "armed")
        stays = np.zeros(len(self._over), dtype=bool)
        for i, state in enumerate(self._states()):
            reached, count = state["waypoints"]
            if reached > self._reached[i]:
                self._reached[i] = reached
                self._on_event(t_us, "waypoint", index=i, reached=reached, of=count)
            stays[i] = state.get("stays", False)
            if why := state.get("ends_early", ""):
                self._say_end(t_us, i, why)
        for i in np.flatnonzero(self._begun & ~self._over & ~estimates.armed):
            self._over[i] = True
            self._on_event(t_us, "mission_over", index=int(i))
        self._end_loitering(t_us, estimates, stays, out)
        if not self._over.all() and t_us - self._start_us > self._longest_us:
            raise self._endless()
        if self._over.all():
            if self._over_us < 0:
                self._over_us = t_us
            stand = (np.abs(estimates.vel) < _REST_SPEED).all()
            self.done = bool(stand) or t_us - self._over_us >= _SLIDE_US
            if self.done:
                self._on_event(t_us, "landed")
        return out

    def reset(self, mask: np.ndarray | None = None) -> None:
        """Starts the missions of these vehicles over."""
        super().reset(mask)
        self.done, self._start_us, self._over_us = False, None, -1

    def _start(self, elapsed_us: int, t_us: int, estimates: Estimates, out: SetPoints) -> None:
        waiting = ~self._begun
        if elapsed_us > self._time_out_us:
            which = ", ".join(map(str, np.flatnonzero(waiting)[:5]))
            raise XtdroneError(
                f"vehicle {which} did not begin its mission within "
                f"{self._time_out_us * 1e-6:g} s: give a plan with --mission FILE, which "
                "'xtdrone mission check FILE' checks; its messages are in console/"
            )
        if estimates.ready.all() and t_us - self._asked_us >= _RETRY_US:
            self._say_missing()
            out.mode[waiting] = Mode.MISSION
            out.arm[waiting & (estimates.mode == Mode.MISSION)] = ARM
            self._asked_us = t_us

    def _say_missing(self) -> None:
        """Prints once which vehicles have no mission yet."""
        without = [str(i) for i, state in enumerate(self._states()) if not state["waypoints"][1]]
        if without and not self._missing_said:
            self._missing_said = True
            print(
                f"vehicle {', '.join(without[:5])} has no mission: upload one within "
                f"{self._time_out_us * 1e-6:g} s, or give --mission FILE",
                file=sys.stderr,
                flush=True,
            )

    def _endless(self) -> XtdroneError:
        which = ", ".join(map(str, np.flatnonzero(~self._over)[:5]))
        return XtdroneError(
            f"the mission of vehicle {which} is not over after {self._longest_us * 1e-6:g} s of "
            "simulated time: give a larger 'longest', or a mission that ends; "
            "'xtdrone mission check FILE' names an item without an end"
        )

    def _say_end(self, t_us: int, i: int, why: str) -> None:
        if not self._ends_early[i]:
            self._ends_early[i] = True
            self._on_event(t_us, "ends_early", index=i, why=why)
            print(f"mission of vehicle {i} ends early: {why}", file=sys.stderr, flush=True)

    def _end_loitering(
        self, t_us: int, estimates: Estimates, stays: np.ndarray, out: SetPoints
    ) -> None:
        loiters = (
            self._begun
            & ~self._over
            & ((estimates.mode == Mode.LOITER) | stays)
            & estimates.armed
            & (self.drives | ~estimates.landed)
        )
        self._loitering_us = np.where(
            loiters, np.where(self._loitering_us < 0, t_us, self._loitering_us), -1
        )
        over = loiters & (t_us - self._loitering_us >= _LOITER_US)
        out.mode[over & ~self.drives] = Mode.LAND
        out.arm[over & self.drives] = DISARM
