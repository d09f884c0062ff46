"""The Agent that carries loads on cables."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from xtdrone_core import Estimates, SetPoints
from xtdrone_core.contracts import Flight
from xtdrone_core.flight_agent import FlightAgent, minimum_jerk
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.arguments import Configured
from xtdrone_core.scenario.loads import SlungLoad, parse_loads
from xtdrone_core.scenario.options import Option

from ..errors import CooperationError
from .motion import Dash, carried, with_load

METHODS = ("load", "vehicle")
_CALM_S, _REST_S, _TURN_S = 5.0, 5.0, 5.0  # before the first motion, after each, of a bar's turn
_AFTER_S = 2.0  # after a stop, from when on the swing is told
_LOWER_S, _ASIDE_S = 3.0, 3.0
_ASIDE_M = 0.9  # that vehicles land beside their load
_SLACK = 0.85  # part of the cable's length at which the vehicles stop above the ground
_CLEAR_M = 0.5  # least height of the load over the ground
_UNEVEN_M = 0.3  # how far the starts of two vehicles may be off the ends of their bar


class LoadAgent(FlightAgent, Configured):
    """Take-off with loads, a dash along `heading` and back, loads put down, landing beside them.

    The load's motion is planned, and the vehicle's follows from it, so that the load does not
    swing after a stop. Two vehicles turn their bar along the way first. In addition to the events
    of FlightAgent: `dash`, `stop`, `lower`.
    """

    FIXED: ClassVar[tuple[str, ...]] = ("climb_speed", "land_from", "time_out")
    MEMORY: ClassVar[tuple[str, ...]] = (
        *FlightAgent.MEMORY,
        "_stage",
        "_stage_us",
        "_middles",
        "_yaws",
        "_placed",
        "_stops_us",
    )

    def __init__(
        self,
        n: int = 1,
        way: Annotated[float, Option("of a dash", unit="m", minimum=1.0, maximum=1000.0)] = 20.0,
        heading: Annotated[
            float, Option("of the dash, from east", unit="deg", minimum=-360.0, maximum=360.0)
        ] = 0.0,
        speed: Annotated[float, Option("largest", unit="m/s", minimum=0.2, maximum=10.0)] = 4.0,
        ramp: Annotated[
            float,
            Option("time from rest to the speed, and back", unit="s", minimum=0.5, maximum=30.0),
        ] = 2.0,
        method: Annotated[
            str,
            Option(
                "whose motion is planned; vehicle, the baseline, ignores loads", choices=METHODS
            ),
        ] = "load",
        height: Annotated[
            float, Option("of the vehicles", unit="m", minimum=1.0, maximum=100.0)
        ] = 3.5,
        on_event: Callable[..., None] | None = None,
    ) -> None:
        """Prepares n vehicles; on_event(t_us, name, **values) is called at each event."""
        super().__init__(n, height, climb_speed=1.0, on_event=on_event)
        self._way, self._speed, self._ramp_s, self._method = way, speed, ramp, method
        self._heading = np.radians(heading)
        self._stage, self._stage_us = "calm", 0
        self._stops_us: list[int] = []
        self._middles: Any = None  # (loads, 3) where the loads are at the stage's start [m]
        self._yaws: Any = None  # (loads,) directions of the bars [rad]
        self._placed = np.zeros((n, 3))  # the last set-points [m]
        self._loads: tuple[SlungLoad, ...] = ()

    def attach(self, flight: Flight) -> None:
        """Learns which loads there are.

        Raises:
            CooperationError: A vehicle without one, a low height, or starts that do not fit a bar.
        """
        scenario = flight.scenario
        names = [spec.name for spec in scenario.vehicles]
        self._loads = parse_loads(scenario.loads, names)
        carriers = sorted(i for load in self._loads for i in load.vehicles)
        if carriers != list(range(scenario.n)):
            free = next(i for i in range(scenario.n) if i not in carriers)
            raise CooperationError(
                f"{names[free]} carries no load: give one to each vehicle, for example "
                f"--loads '{names[free]} 0.5 1.5'"
            )
        self._of = np.zeros((scenario.n, 2), dtype=int)  # its load, and its end of that
        self._length = np.zeros(scenario.n)
        self._share = np.zeros(scenario.n)  # mass that each carries over its own
        for k, load in enumerate(self._loads):
            for end, i in enumerate(load.vehicles):
                self._of[i], self._length[i] = (k, end), load.length
                self._share[i] = load.mass / len(load.vehicles) / flight.fleet.vehicles[i].mass
            if self.height < load.length + _CLEAR_M:
                raise CooperationError(
                    f"height {self.height:g} m is not allowed: give {load.length + _CLEAR_M:g} m "
                    f"or more, so that {load.name} is off the ground"
                )
            if load.bar:
                starts = np.array([scenario.vehicles[i].pos for i in load.vehicles])
                apart = float(np.linalg.norm(starts[1] - starts[0]))
                if abs(apart - load.bar) > _UNEVEN_M:
                    raise CooperationError(
                        f"the vehicles of {load.name} start {apart:g} m apart, and its bar has "
                        f"{load.bar:g} m: give starts as far apart, as in "
                        f"'iris@0,{-0.5 * load.bar:g}; iris@0,{0.5 * load.bar:g}'"
                    )

    def begin(self, t_us: int, estimates: Estimates) -> None:
        """Begins with loads that hang still below where the vehicles are."""
        self._middles = np.array(
            [self.home[list(load.vehicles)].mean(axis=0) for load in self._loads]
        )
        self._middles[:, 2] += self.height - np.array([load.length for load in self._loads])
        self._yaws = np.zeros(len(self._loads))
        for k, load in enumerate(self._loads):
            if load.bar:
                east, north = (self.home[load.vehicles[1]] - self.home[load.vehicles[0]])[:2]
                self._yaws[k] = np.arctan2(north, east)
        self._stage_us = t_us

    def fly(self, t_us: int, estimates: Estimates, out: SetPoints) -> bool:
        """Flies the stage, and goes on to the next one at its end."""
        t = (t_us - self._stage_us) * 1e-6
        if t >= self._seconds():
            if self._stage == "aside":
                return True
            self._finish(t_us)
            t = 0.0
        if self._stage in ("lower", "aside"):
            self._put_down(t, out)
        else:
            self._carry(t, out)
        return False

    def _seconds(self) -> float:
        """Time of the present stage [s]."""
        if self._stage in ("there", "back"):
            return max(self._dash(k).duration for k in range(len(self._loads)))
        return {"calm": _CALM_S, "turn": _TURN_S, "lower": _LOWER_S, "aside": _ASIDE_S}.get(
            self._stage, _REST_S
        )

    def _finish(self, t_us: int) -> None:
        """Goes on to the next stage, from where the present one has ended."""
        end = self._seconds()
        self._middles, self._yaws = (
            np.array([self._load(k, end)[j] for k in range(len(self._loads))]) for j in (0, 2)
        )
        order = ["calm", "turn", "there", "rest there", "back", "rest", "lower", "aside"]
        if not any(load.bar for load in self._loads):
            order.remove("turn")
        if self._stage in ("there", "back"):
            self._stops_us.append(t_us)
            self.event(t_us, "stop")
        self._stage, self._stage_us = order[order.index(self._stage) + 1], t_us
        if self._stage in ("there", "back"):
            self.event(t_us, "dash", speed=self._speed)
        if self._stage == "lower":
            self.event(t_us, "lower")

    def _dash(self, k: int) -> Dash:
        away = self._way * np.array([np.cos(self._heading), np.sin(self._heading), 0.0])
        end = self._middles[k] + (away if self._stage == "there" else -away)
        return Dash(self._middles[k], end, self._speed, self._ramp_s)

    def _load(self, k: int, t: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Place, acceleration (3,) and direction of load k at a time of the stage [s]."""
        pos, acc, yaw = self._middles[k], np.zeros(3), float(self._yaws[k])
        if self._stage in ("there", "back"):
            pos, acc = self._dash(k).at(t)
        if self._stage == "turn" and self._loads[k].bar:
            turn = (self._heading - yaw + np.pi) % (2.0 * np.pi) - np.pi
            yaw += turn * minimum_jerk(t / _TURN_S)[0]
        return pos, acc, yaw

    def _end(self, i: int, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Place and acceleration of the end of the load that vehicle i carries."""
        k, end = self._of[i]
        pos, acc, yaw = self._load(k, t)
        arm = (end - 0.5) * self._loads[k].bar * np.array([np.cos(yaw), np.sin(yaw), 0.0])
        return pos + arm, acc

    def _carry(self, t: float, out: SetPoints) -> None:
        """Set-points of vehicles whose loads, or which themselves, move as planned."""
        aware = self._method == "load"
        for i in range(self.n):
            length = float(self._length[i])
            plan = carried(partial(self._end, i), t, length if aware else 0.0)
            out.pos[i], out.vel[i] = plan.pos, plan.vel
            out.acc[i] = with_load(plan, self._share[i]) if aware else plan.acc
            out.pos[i, 2] += 0.0 if aware else length
        self._placed = out.pos.copy()

    def _put_down(self, t: float, out: SetPoints) -> None:
        """Lowers the loads to the ground, then moves aside with slack cables."""
        s, ds, _ = minimum_jerk(t / _LOWER_S if self._stage == "lower" else 1.0)
        drop = self.home[:, 2] + _SLACK * self._length - self._placed[:, 2]
        out.pos[:] = self._placed
        out.pos[:, 2] += s * drop
        out.vel[:] = 0.0
        out.vel[:, 2] = ds / _LOWER_S * drop
        if self._stage == "aside":
            s, ds, _ = minimum_jerk(t / _ASIDE_S)
            across = self._yaws[self._of[:, 0]] + 0.5 * np.pi
            aside = _ASIDE_M * np.column_stack([np.cos(across), np.sin(across)])
            out.pos[:, :2] += s * aside
            out.vel[:, :2] = ds / _ASIDE_S * aside

    def report(self, folder: Path | str) -> dict[str, Any]:
        """Draws heights and swing of the loads, and keeps and prints the figures."""
        from .picture import draw, swing_after  # slow to import

        stops = [t_us * 1e-6 for t_us in self._stops_us]
        found = swing_after(Path(folder), stops, _AFTER_S, _REST_S - _AFTER_S)
        metrics: dict[str, Any] = {
            "swing_2_s_after_stops_deg": [round(value, 1) for value in found]
        }
        run_folder.update_summary(Path(folder), **metrics)
        for name, value in metrics.items():
            print(f"{name}: {value}")
        draw(Path(folder), stops)
        return metrics
