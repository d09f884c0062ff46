"""The Agent that flies several vehicles to their goals through what nobody has seen."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from xtdrone_core import Estimates, FleetState, SensorBatch, SetPoints
from xtdrone_core.contracts import Flight, Observer
from xtdrone_core.flight_agent import FlightAgent
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.arguments import Configured
from xtdrone_core.scenario.options import Option
from xtdrone_formation.declarations import Radio
from xtdrone_formation.network import Network

from ..agent import make_map, read_goals
from ..errors import PlanningError
from ..options import (
    Acceleration,
    Clearance,
    High,
    Low,
    Patience,
    PlannerName,
    Resolution,
    Speed,
    TakeOffHeight,
)
from ..planners.planner import PLANNERS, Limits
from ..sight import Sight
from . import packets
from .agreement import PERIOD_US, Agreement, reach_of
from .pilot import MORE_S, SharingPilot

ORDERS = ("crossed", "kept")
_NEAR = 0.5  # a vehicle at rest so near is at its goal [m]
_LEAD_S = 0.3  # a plan begins so much later than a confirmation needs without losses [s]
_BRAKING = 0.7  # part of the acceleration that a stop uses


class SharingAgent(FlightAgent, Configured):
    """Several vehicles that see for themselves and tell each other what they fly.

    Inherit and implement begin_flight() and fly_on().

    Attributes:
        pilots: The SharingPilot of each vehicle, with its map.
        network: The links.
    """

    FIXED: ClassVar[tuple[str, ...]] = ("climb_speed", "land_from", "time_out")
    MEMORY: ClassVar[tuple[str, ...]] = (
        *FlightAgent.MEMORY,
        "pilots",
        "network",
        "_said",
        "_begun_us",
        "_ended_us",
    )

    def __init__(
        self,
        n: int = 1,
        planner: PlannerName = "local",
        speed: Speed = 2.5,
        acceleration: Acceleration = 4.0,
        radius: Annotated[
            float,
            Option("of a vehicle, with what it may be off", unit="m", minimum=0.1, maximum=3.0),
        ] = 0.45,
        clearance: Clearance = 0.9,
        separation: Annotated[
            float,
            Option("least, between what two vehicles fly", unit="m", minimum=0.5, maximum=20.0),
        ] = 1.6,
        low: Low = 1.0,
        high: High = 3.5,
        height: TakeOffHeight = 2.0,
        resolution: Resolution = 0.2,
        map_size: Annotated[
            float, Option("side of each map", unit="m", minimum=10.0, maximum=400.0)
        ] = 60.0,
        on_event: Callable[..., None] | None = None,
        **options: Annotated[Any, Radio],  # fields of Radio
    ) -> None:
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event.

        **options are fields of Radio: the delay, loss and range of the links.

        Raises:
            XtdroneError: No such planner, a number that is not allowed, or a range within which
                vehicles hear each other too late.
        """
        super().__init__(n, height, on_event=on_event)
        radio = Radio(**options)
        self.limits = Limits(speed, acceleration, radius, clearance, low, high)
        self.limits.check()
        lead_us = -(-round(1e6 * (2.0 * radio.delay + _LEAD_S)) // PERIOD_US) * PERIOD_US
        keep = 2e-6 * lead_us + MORE_S
        reach = reach_of(speed, _BRAKING * acceleration, keep, separation)
        if n > 1 and radio.range < reach:
            raise PlanningError(
                f"range {radio.range:g} m is not allowed: give {reach:.1f} m or more, within which "
                f"vehicles of {speed:g} m/s have to agree, or a lower speed"
            )
        pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
        self.network = Network(pairs, n, radio)
        length = packets.size(n)
        self.pilots = [
            SharingPilot(
                PLANNERS.load(planner)(),
                self.limits,
                *make_map(self.limits, resolution, map_size),
                Agreement(i, n, length, separation, reach, speed),
                lead_us,
            )
            for i in range(n)
        ]
        self._said = [""] * n  # the last reason that was reported of each
        self._begun_us, self._ended_us = 0, 0
        self._sights: list[Sight] = []
        self._truth: Truth | None = None

    def begin_flight(self, t_us: int, estimates: Estimates) -> None:
        """Called once at the take-off height."""

    def fly_on(self, t_us: int, estimates: Estimates) -> bool:
        """Called before each step of the pilots; returns True to land."""
        raise NotImplementedError

    def marks(self) -> np.ndarray:
        """Returns what the picture marks, (G, 3) [m]."""
        raise NotImplementedError

    def attach(self, flight: Flight) -> None:
        """Finds the sensors.

        Raises:
            PlanningError: A vehicle cannot see, or two start too near to each other.
        """
        self._check_starts(np.array([vehicle.pos for vehicle in flight.scenario.vehicles]))
        for i, pilot in enumerate(self.pilots):
            sight = Sight.of_flight(flight, i, pilot.voxels)
            sight.others = pilot.agreement.where
            self._sights.append(sight)
        self._truth = Truth()
        flight.observers += [*self._sights, self._truth]

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins to fly by sight."""
        if not self._sights:
            raise PlanningError("the Agent needs its flight: use xd.Simulation or xtdrone fly")
        for i, pilot in enumerate(self.pilots):
            place = self.home[i] + [0.0, 0.0, self.height]
            pilot.start(t_us, place, float(self._yaw[i]))
        self._begun_us, self._ended_us = t_us, 0
        self.begin_flight(t_us, estimates)

    def step(self, t_us: int, estimates: Estimates) -> SetPoints:
        """Takes images and packets in every phase."""
        if self._sights and t_us >= self._next_us:
            for sight in self._sights:
                sight.take(t_us, estimates)
            if t_us % PERIOD_US < self.period_us:
                self._exchange(t_us, estimates.pos)
        return super().step(t_us, estimates)

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies on; returns True at the end."""
        over = self.fly_on(t_us, estimates)
        for i, (pilot, sight) in enumerate(zip(self.pilots, self._sights)):
            pilot.decide(t_us)
            planned = pilot.step(t_us, estimates.pos[i], estimates.vel[i], sight.newest_us)
            out.pos[i], out.vel[i], out.acc[i] = planned
            out.yaw[i] = self._yaw[i] = pilot.yaw
            if pilot.held_us >= 0 and pilot.reason != self._said[i]:
                self._said[i] = pilot.reason
                if pilot.reason:
                    self.event(t_us, "held", vehicle=i, reason=pilot.reason)
        if over:
            self._ended_us = t_us
        return over

    def report(self, folder: Path | str) -> None:
        """Draws the ways and the distances between the vehicles, and prints what was flown."""
        if self._truth is None or not self._begun_us:
            return
        from .picture import draw_gaps, draw_ways

        folder = Path(folder)
        metrics = self.metrics()
        run_folder.update_summary(folder, **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")
        if self.n > 1:
            rows = self.ways
            times = np.arange(len(rows)) * 1e-6 * Truth.period_us
            separation = self.pilots[0].agreement.separation
            draw_gaps(folder / "plots" / "distances.png", times, gaps(rows), separation)
        maps = [pilot.voxels for pilot in self.pilots]
        draw_ways(folder / "plots" / "navigation.png", maps, self.ways, self.marks())

    def metrics(self) -> dict[str, Any]:
        """Returns what is measured of a flight, for its summary."""
        rows = self.ways
        plan_ms = [ms for pilot in self.pilots for ms in pilot.plan_ms] or [0.0]
        out: dict[str, Any] = {
            "vehicles": self.n,
            "way_s": round(1e-6 * Truth.period_us * max(len(rows) - 1, 0), 1),
            "way_m": round(float(np.linalg.norm(np.diff(rows, axis=0), axis=2).sum()), 1),
            "plans": sum(len(pilot.plan_ms) for pilot in self.pilots),
            "plan_ms_median": round(float(np.median(plan_ms)), 2),
            "plan_ms_99": round(float(np.percentile(plan_ms, 99)), 2),
            "plans_confirmed": sum(pilot.agreement.flown_count for pilot in self.pilots),
            "plans_dropped": sum(pilot.agreement.dropped for pilot in self.pilots),
            "packets_sent": self.network.sent,
            "packets_lost": self.network.lost,
        }
        if self.n > 1:
            out["least_distance_m"] = round(float(gaps(rows).min(initial=np.inf)), 2)
        return out

    @property
    def ways(self) -> np.ndarray:
        """(T, N, 3) true positions from the take-off height on, ten a second [m]."""
        rows = np.array([] if self._truth is None else self._truth.pos).reshape(-1, self.n, 3)
        first, last = (t // Truth.period_us for t in (self._begun_us, self._ended_us))
        return rows[max(first - 1, 0) : last if last > 0 else None]

    def _exchange(self, t_us: int, pos: np.ndarray) -> None:
        """Sends what each vehicle announces, and takes what has arrived."""
        if self.n == 1:
            return
        rows = [pilot.agreement.packet(pos[i]) for i, pilot in enumerate(self.pilots)]
        self.network.exchange(t_us, np.array(rows))
        came = self.network.neighbours(t_us, np.arange(self.n))
        old = np.where(np.isfinite(came.age), came.age, -1.0)
        sent_us = np.where(old < 0.0, -1, t_us - np.round(1e6 * old).astype(np.int64))
        for i, pilot in enumerate(self.pilots):
            mine = came.to == i
            pilot.agreement.hear(came.sender[mine], came.packets[mine], sent_us[mine])

    def _check_starts(self, starts: np.ndarray) -> None:
        separation = self.pilots[0].agreement.separation
        near = gaps(starts[None]) < separation if self.n > 1 else np.zeros(1, bool)
        if near.any():
            raise PlanningError(
                f"two vehicles start less than {separation:g} m from each other: give --vehicles "
                "with places that are further apart, or a smaller separation"
            )


class SwarmAgent(SharingAgent):
    """Take-off, flights of several vehicles to their goals between obstacles, landing.

    Each fills a map with what it sees itself, and flies a plan once those near it have confirmed
    it over links with a delay, losses and a range. In addition to the events of FlightAgent:
    `goal` (vehicle, reached), `held` (vehicle, reason), `given_up` (vehicle, reason).
    """

    MEMORY = (*SharingAgent.MEMORY, "_there", "_goals")

    def __init__(
        self,
        n: int = 2,
        goal: Annotated[
            str, Option("x,y,z, or one for each vehicle with ';' between", unit="m")
        ] = "20,0,2",
        order: Annotated[
            str,
            Option(
                "of vehicles around one goal: as at the start, or each across from it, so that "
                "all ways cross",
                choices=ORDERS,
            ),
        ] = "crossed",
        patience: Patience = 20.0,
        **options: Any,  # those of SharingAgent, each of its own type
    ) -> None:
        """Prepares n vehicles; **options as of SharingAgent.

        Raises:
            XtdroneError: A goal that cannot be read, or as of SharingAgent.
        """
        super().__init__(n, **options)
        self._given, self._order = read_goals(goal), order
        if len(self._given) not in (1, n):
            raise PlanningError(
                f"{len(self._given)} goals are not allowed for {n} vehicles: give one, or one each"
            )
        self._patience_us = round(patience * 1e6)
        self._goals = np.zeros((n, 3))
        self._there = np.zeros(n, dtype=np.int64)  # 1: at its goal, -1: given up

    def goals_reached(self) -> dict[str, tuple[int, int]]:
        """Returns how many goals were reached, of how many."""
        return {"goals": (int((self._there == 1).sum()), self.n)}

    def marks(self) -> np.ndarray:
        """Returns the goals (N, 3) [m]."""
        return self._goals

    def begin_flight(self, t_us: int, estimates: Estimates) -> None:
        """Sets out."""
        self._goals[:] = self._given
        if len(self._given) == 1 and self.n > 1:
            side = -1.0 if self._order == "crossed" else 1.0
            self._goals[:, :2] += side * (self.home - self.home.mean(axis=0))[:, :2]
        for pilot, goal in zip(self.pilots, self._goals):
            pilot.goal = goal.copy()

    def fly_on(self, t_us: int, estimates: Estimates) -> bool:
        """Returns True when each is at its goal, or has given up."""
        for i in np.flatnonzero(self._there == 0).tolist():
            pilot = self.pilots[i]
            near = np.linalg.norm(estimates.pos[i] - self._goals[i]) < _NEAR
            held = pilot.held_us >= 0 and t_us - pilot.held_us > self._patience_us
            if near and pilot.is_at_rest(t_us):
                self._there[i] = 1
                self.event(t_us, "goal", vehicle=i, reached=True)
            elif held:
                self._there[i] = -1
                self.event(t_us, "given_up", vehicle=i, reason=pilot.reason)
            if self._there[i]:
                pilot.goal = None
        return bool(self._there.all())

    def metrics(self) -> dict[str, Any]:
        """Returns what is measured of a flight, for its summary."""
        return {"goals_reached": int((self._there == 1).sum()), **super().metrics()}


class Truth(Observer):
    """Records where all vehicles truly are, for pictures and figures alone."""

    period_us = 100_000

    def __init__(self) -> None:
        """Nothing so far."""
        self.pos: list[np.ndarray] = []

    def on_step(self, t_us: int, state: FleetState, sensors: SensorBatch) -> None:
        """Keeps the positions."""
        self.pos.append(state.pos.copy())


def gaps(rows: np.ndarray) -> np.ndarray:
    """Returns the least distance [m] between two of (T, N, 3) places at each time, (T,)."""
    first, second = np.triu_indices(rows.shape[1], 1)
    return np.asarray(np.linalg.norm(rows[:, first] - rows[:, second], axis=2).min(axis=1))
