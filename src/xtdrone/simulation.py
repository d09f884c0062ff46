"""A simulation for scripts and notebooks: commands by name, steps by the second."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from xtdrone_core.contracts import Agent, Observer
from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs import run_folder
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.scenario.scenario import Scenario
from xtdrone_core.scenario.vehicles import parse_vehicles
from xtdrone_core.sealing import sealed
from xtdrone_core.state import Estimates, FleetState, SensorBatch, SetPoints
from xtdrone_core.vehicle import Vehicle
from xtdrone_sim.observers.crashes import Crash
from xtdrone_sim.simulation import Simulation as Lockstep
from xtdrone_sim.vehicles.sdf import load_vehicle as _load_vehicle

from .backends.agent import BackendsAgent
from .backends.backend import Backend
from .callbacks import Callbacks
from .commands import Commands, Vehicles, Wait
from .compose.multirotor import Multirotor
from .obstacles import Obstacles
from .operator import Operator
from .spawning import Spawning

Fleet = str | os.PathLike[str] | Sequence[Any]  # as Scenario.vehicles takes it
_SHOWN = 3  # largest number of vehicles with a reason in an error message


@sealed
class Simulation(Callbacks, Obstacles, Spawning):
    """A scenario that is flown by commands; use it in a `with` block.

    Commands that wait advance simulated time until they are complete. `vehicles` are indices,
    names, or a mask (N,) of bool; None means all of them. Several simulations may exist at once
    in a process.

    Examples:
        >>> import xtdrone as xd
        >>> with xd.Simulation(xd.Scenario(vehicles="iris", gps="rtk")) as sim:
        ...     sim.arm()
        ...     sim.takeoff(2.0)
        ...     height = sim.state.pos[0, 2]
        >>> 1.6 < height < 2.4
        True
    """

    def __init__(
        self,
        scenario: Scenario | Fleet,
        *,
        agent: Agent | None = None,
        backends: Mapping[str, Backend] | None = None,
        observers: Iterable[Observer] = (),
        record: bool = False,
        links: bool = False,
        speed: float = 0.0,
    ) -> None:
        """Builds everything; nothing moves yet.

        Args:
            scenario: What to simulate, or vehicles as Scenario takes them; those composed in
                Python with a backend are flown by it.
            agent: Flies the fleet from inside, in place of the commands of this class.
            backends: What flies single vehicles, by their names; the others follow the Agent or
                the commands.
            observers: See each step.
            record: Whether to leave a run folder (truth, flight logs) in runs/.
            links: Whether to open the MAVLink ports, for a ground station to watch, and for ROS 2
                where the scenario has `ros2`; they allow 250 vehicles.
            speed: Simulated seconds per second; 0 = as fast as possible.

        Raises:
            XtdroneError: Something in the scenario cannot be built.
        """
        own: dict[str, Backend] = {}
        if not isinstance(scenario, Scenario):
            given = [scenario] if isinstance(scenario, (str, os.PathLike)) else list(scenario)
            scenario = Scenario(vehicles=given)  # type: ignore[arg-type]
            own = _backends_of(given, scenario)
        scenario = dataclasses.replace(scenario, speed=speed)
        self._flight: Lockstep = None  # type: ignore[assignment]  # until it is built
        self.folder: Path | None = (
            run_folder.create(scenario.name, scenario.instance) if record else None
        )
        try:
            if self.folder is not None:
                scenario.save(self.folder / "scenario.yaml")
            if scenario.ros2 and not links:
                raise XtdroneError(
                    "ros2 true needs MAVLink links, by which ROS 2 commands: give links=True"
                )
            self._flight = Lockstep(scenario, self.folder, agent, links=links, observers=observers)
            if scenario.ros2:
                self._join_ros2()
            self._equip(agent, {**own, **(backends or {})})
        except BaseException:
            self.close()
            if self.folder is not None:
                run_folder.discard_unflown(self.folder)
            raise

    def _join_ros2(self) -> None:
        from xtdrone_ros2.station import Ros2Station  # an optional extra

        self._flight.observers.append(Ros2Station(self._flight))

    def _equip(self, agent: Agent | None, backends: Mapping[str, Backend]) -> None:
        """Decides who flies what: an Agent or the commands, and backends."""
        flight, operator = self._flight, None
        n, actuators = flight.fleet.actuator.shape
        flown = np.zeros(n, dtype=np.bool_)
        if agent is None:
            agent = operator = Operator(n, actuators)
        if backends:
            flying = BackendsAgent(flight.scenario, backends, agent)
            agent, flown = cast(Agent, flying), flying.flown  # a cast, as its `done` is read-only
        if operator is not None or backends:
            flight.agent = agent
        self.commands = Commands(flight, operator, flown)

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def scenario(self) -> Scenario:
        """The scenario."""
        return self._flight.scenario

    @property
    def n(self) -> int:
        """Number of vehicles."""
        return self.scenario.n

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the vehicles."""
        return tuple(spec.name for spec in self.scenario.vehicles)

    @property
    def vehicles(self) -> tuple[Vehicle, ...]:
        """Models of the vehicles: bodies, actuators, sensors."""
        return self._flight.fleet.vehicles

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._flight.t_us * 1e-6

    @property
    def state(self) -> FleetState:
        """The true state now; overwritten by the next step, copy() keeps it."""
        return self._flight.state

    @property
    def sensors(self) -> SensorBatch:
        """The last readings; overwritten by the next step."""
        return self._flight.sensors

    @property
    def estimates(self) -> Estimates:
        """The autopilots' estimates; overwritten by the next step."""
        return self._flight.autopilot.estimates()

    @property
    def collisions(self) -> list[tuple[float, str, str]]:
        """Time [s] and names of each touch so far, the ground left out."""
        return [(t_us * 1e-6, one, other) for t_us, one, other in self._flight.collisions]

    @property
    def crashes(self) -> list[Crash]:
        """Crashes so far: time [us], vehicle, kind, contact, speed, tilt."""
        return self._flight.crashes

    @property
    def done(self) -> bool:
        """True when the Agent has completed the flight."""
        agent = self._flight.agent
        return agent is not None and agent.done

    def health(self) -> list[dict[str, Any]]:
        """Returns health of each vehicle: mode, armed, not_ready (the reason, or ""), and more."""
        return self._flight.autopilot.health()

    # Time ---------------------------------------------------------------------------------------

    def step(self, steps: int = 1) -> None:
        """Makes single lockstep steps of 4 ms."""
        for _ in range(steps):
            self._flight.step()

    def run(self, seconds: float | None = None) -> None:
        """Advances simulated time, at most to the end of the Agent's flight.

        Args:
            seconds: How long [s]; None until the Agent is done.

        Raises:
            XtdroneError: No time is given and there is no Agent to end the flight.
        """
        if seconds is None:
            self.check_end()
        self._flight.run(None if seconds is None else self._flight.t_us + round(seconds * 1e6))

    def check_end(self) -> None:
        """Refuses to run without a time where nothing ends the flight.

        Raises:
            XtdroneError: There is neither an Agent nor a backend.
        """
        if isinstance(self._flight.agent, Operator):
            raise XtdroneError("run() needs a time: give seconds, for example run(5.0)")

    def run_until(
        self, condition: Callable[[], ArrayLike], what: str, time_out: float = 60.0
    ) -> None:
        """Advances time until condition() is true; of an array all elements must be.

        Args:
            condition: Evaluated every 20 ms.
            what: Description for the error message.
            time_out: [s] of simulated time.

        Raises:
            XtdroneError: The time-out came first.
        """
        flight, end_us = self._flight, self._flight.t_us + round(time_out * 1e6)
        while not np.all(condition()):
            if flight.t_us >= end_us:
                raise XtdroneError(self.late(what, time_out))
            flight.run(flight.t_us - flight.t_us % TICK_US + TICK_US)

    # Commands -----------------------------------------------------------------------------------

    def arm(self, vehicles: Vehicles = None, *, wait: bool = True, time_out: float = 60.0) -> None:
        """Arms vehicles on the ground, in OFFBOARD.

        Raises:
            XtdroneError: They are not armed in time.
        """
        self._do(self.commands.arm(vehicles, time_out), wait)

    def takeoff(
        self, height: float, vehicles: Vehicles = None, *, wait: bool = True, time_out: float = 60.0
    ) -> None:
        """Takes off to a height above the launch position [m].

        Raises:
            XtdroneError: One is not armed, or they are not there in time.
        """
        self._do(self.commands.takeoff(height, vehicles, time_out), wait)

    def goto(
        self,
        pos: ArrayLike,
        vehicles: Vehicles = None,
        *,
        yaw: ArrayLike = np.nan,
        wait: bool = True,
        time_out: float = 60.0,
    ) -> None:
        """Flies to a position and holds it.

        Args:
            pos: (3,) or (M, 3) for the M vehicles, world [m].
            vehicles: Vehicles that are meant; None: all.
            yaw: Counter-clockwise from east [rad], one or (M,); NaN as it is.
            wait: Whether to wait until all are within 0.3 m.
            time_out: Time-out of that [s].

        Raises:
            XtdroneError: They are not there in time.
        """
        self._do(self.commands.goto(pos, vehicles, yaw, time_out), wait)

    def velocity(
        self, vel: ArrayLike, vehicles: Vehicles = None, *, yaw_rate: ArrayLike = np.nan
    ) -> None:
        """Flies at a constant velocity until the next command; does not wait.

        Args:
            vel: (3,) or (M, 3), world [m/s].
            vehicles: Vehicles that are meant; None: all.
            yaw_rate: Counter-clockwise [rad/s], one or (M,); NaN keeps the heading.
        """
        self.commands.velocity(vel, vehicles, yaw_rate)

    def set_points(self, set_points: SetPoints, vehicles: Vehicles = None) -> None:
        """Flies these set-points until the next command; does not wait. NaN is not controlled."""
        self.commands.set_points(set_points, vehicles)

    def land(self, vehicles: Vehicles = None, *, wait: bool = True, time_out: float = 60.0) -> None:
        """Lands vehicles where they are; they disarm on the ground.

        Raises:
            XtdroneError: They are not down in time.
        """
        self._do(self.commands.land(vehicles, time_out), wait)

    # State --------------------------------------------------------------------------------------

    def reset(self, vehicles: Vehicles = None) -> None:
        """Resets vehicles to their initial state; the others fly on unchanged.

        Raises:
            XtdroneError: No such vehicle, or a part of the scenario cannot do it.
        """
        self._flight.reset(vehicles)

    def save(self, path: str | Path) -> None:
        """Writes the complete state to a file, from which the flight continues bit for bit.

        Raises:
            XtdroneError: It cannot be written, or a part of the scenario cannot do it.
        """
        self._flight.save(path)

    def load(self, path: str | Path) -> None:
        """Restores a file written by save() in the same scenario.

        Raises:
            XtdroneError: It is not a snapshot, or belongs to another scenario.
        """
        self._flight.load(path)

    def close(self) -> None:
        """Ends the simulation. May be called twice."""
        if self._flight is not None:
            self._flight.close()

    def _do(self, waits: Iterator[Wait], wait: bool) -> None:
        for each in waits:
            if wait:
                self.run_until(*each)

    def late(self, what: str, time_out: float) -> str:
        """Returns the message of a time-out, with the reasons that the vehicles give."""
        waiting = [
            f"{name}: {state['not_ready']}"
            for name, state in zip(self.names, self.health(), strict=True)
            if state["not_ready"]
        ]
        warning = self._flight.last_warning
        reasons = [*waiting[:_SHOWN], *([f"last warning: {warning}"] if warning else [])]
        return f"not {what} after {time_out:g} s of simulated time" + "".join(
            f"; {reason}" for reason in reasons
        )


def _backends_of(given: Sequence[object], scenario: Scenario) -> dict[str, Backend]:
    """Returns the backends of composed vehicles, by the names that these have in the scenario."""
    backends: dict[str, Backend] = {}
    i = 0
    for item in given:
        if isinstance(item, Multirotor) and item.backend is not None:
            backends[scenario.vehicles[i].name] = item.backend()
        i += len(parse_vehicles(item)) if isinstance(item, str) else 1
    return backends


def load_vehicle(name: str | os.PathLike[str]) -> Vehicle:
    """Returns a vehicle by its name in models/, from an SDF file, or as it was composed.

    Raises:
        XtdroneError: There is none, or its file is invalid.
    """
    return _load_vehicle(name)
