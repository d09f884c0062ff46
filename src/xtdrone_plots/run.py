"""A run folder, read when it is asked for: truth, flight logs, events, mission."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xtdrone_autopilot.ulog.series import Series, estimate, series, set_point
from xtdrone_core import Scenario, XtdroneError
from xtdrone_core.errors import unknown_name
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.truth_log import read_truth

if TYPE_CHECKING:
    from xtdrone_autopilot.ulog.reader import FlightLog

_MAX_MARKS = 300  # events that are marked in all
_REPEATED = 12  # events of one name that are marked; more would hide what is drawn


@dataclass(frozen=True)
class Plan:
    """The mission and the fence of a vehicle, in the world's axes."""

    waypoints: np.ndarray  # (W, 3) east, north, up [m]
    fence: list[np.ndarray]  # its closed outlines, (V, 2) east, north [m]


class Run:
    """A run folder. Positions are east, north and up, as the truth is."""

    def __init__(self, folder: Path | str, vehicles: list[str] | None = None) -> None:
        """Reads the scenario.

        Args:
            folder: The run folder.
            vehicles: Names of the vehicles that are drawn; None: all.

        Raises:
            XtdroneError: There is no scenario in it, or no such vehicle.
        """
        self.folder = Path(folder)
        self.scenario = Scenario.load(run_folder.scenario_file(folder))
        names = [spec.name for spec in self.scenario.vehicles]
        for name in vehicles or ():
            if name not in names:
                raise XtdroneError(unknown_name("vehicle", name, names))
        self.index = [i for i, name in enumerate(names) if not vehicles or name in vehicles]
        self._logs: dict[int, FlightLog | None] = {}

    @property
    def title(self) -> str:
        """Name of the run, and what flew where."""
        n, scenario = self.scenario.n, self.scenario
        return (
            f"{self.folder.resolve().name}: {n} vehicle{'s' * (n > 1)}, world "
            f"{Path(scenario.world).stem}, engine {scenario.engine}, autopilot "
            f"{scenario.flown_by}"
        )

    def name(self, i: int) -> str:
        """Returns the name of the vehicle with this index."""
        return self.scenario.vehicles[i].name

    @cached_property
    def truth(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (T,) [s], and states (T, N, 13) as read_truth() returns them.

        Raises:
            XtdroneError: There is no truth log.
        """
        t_us, table = read_truth(self.folder / run_folder.TRUTH, self.scenario.n)
        return t_us * 1e-6, table

    @cached_property
    def angles(self) -> np.ndarray:
        """True roll, pitch and yaw (T, N, 3) of the body FLU in ENU [deg]."""
        from xtdrone_dynamics.quaternion import to_euler_array  # Numba, which few figures need

        quat = self.truth[1][..., 3:7]
        return np.degrees(to_euler_array(quat.reshape(-1, 4))).reshape(*quat.shape[:2], 3)

    def log(self, i: int) -> "FlightLog | None":
        """Returns the flight log of a vehicle, the longest of several, or None."""
        if i not in self._logs:
            from xtdrone_autopilot.ulog.reader import FlightLog

            paths = sorted(
                (self.folder / "ulog" / self.name(i)).glob("*.ulg"),
                key=lambda path: path.stat().st_size,
            )
            self._logs[i] = FlightLog(paths[-1]) if paths else None
        return self._logs[i]

    def topic(self, i: int, name: str, *fields: str) -> Series | None:
        """Returns fields (K, M) of a topic of a vehicle's log, at simulated times; None without."""
        log = self.log(i)
        return None if log is None else series(log, name, *fields)

    def estimate(self, i: int) -> Series | None:
        """Returns the estimated position and velocity (K, 6), ENU [m], [m/s]; NaN while invalid."""
        log = self.log(i)
        return None if log is None else self._from_start(i, estimate(log))

    def set_point(self, i: int) -> Series | None:
        """Returns set-points of position and velocity (K, 6), ENU [m], [m/s]; NaN without."""
        log = self.log(i)
        return None if log is None else self._from_start(i, set_point(log))

    def _from_start(self, i: int, local: Series | None) -> Series | None:
        if local is None or self.scenario.origin == "shared":
            return local
        # A local origin is at the vehicle's start.
        return Series(local.t_s, local.values + np.pad(self.scenario.vehicles[i].pos, (0, 3)))

    @cached_property
    def events(self) -> list[tuple[float, str]]:
        """Times [s] and names of the events; those that come often are left out."""
        named = [
            (
                event["t_us"] * 1e-6,
                " ".join(
                    [
                        event["event"],
                        *(str(event[key]) for key in ("formation", "vehicle") if key in event),
                    ]
                ),
            )
            for event in run_folder.read_events(self.folder)
        ]
        counts: dict[str, int] = {}
        for mark in named:
            counts[_kind(mark)] = counts.get(_kind(mark), 0) + 1
        return [mark for mark in named if counts[_kind(mark)] <= _REPEATED][:_MAX_MARKS]

    def plan(self, i: int) -> Plan | None:
        """Returns the mission and fence of a vehicle; None without, or if the file is gone."""
        if not self.scenario.mission:
            return None
        from xtdrone_autopilot.navigation import mission_items as items
        from xtdrone_autopilot.navigation.fleet_plans import of_fleet
        from xtdrone_sim.world import world_of

        try:
            world = world_of(self.scenario)
            origin = world.latitude, world.longitude, world.altitude
            starts = [spec.pos for spec in self.scenario.vehicles]
            held = of_fleet(self.scenario.mission, starts, origin)[i].items
        except XtdroneError:
            return None
        places = [
            item.position(origin, np.array(starts[i]))
            for item in held[items.MISSION]
            if item.command in items.PLACED and item.has_place
        ]
        fence = items.fence_of(held[items.FENCE], origin)
        return Plan(np.array(places).reshape(-1, 3), fence.outlines())


def _kind(mark: tuple[float, str]) -> str:
    return mark[1].partition(" ")[0]
