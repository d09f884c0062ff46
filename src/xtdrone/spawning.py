"""Vehicles that come and go while a simulation runs."""

import os
import re
from typing import cast

from xtdrone_core.contracts import Agent
from xtdrone_core.errors import ScenarioError, XtdroneError, unknown_name
from xtdrone_core.runs.snapshot import Rows, regrouped
from xtdrone_core.scenario.scenario import Scenario
from xtdrone_core.scenario.vehicles import VehicleSpec
from xtdrone_sim.simulation import Simulation as Lockstep

from .backends.agent import BackendsAgent
from .backends.backend import Backend
from .commands import Commands
from .compose.multirotor import Multirotor
from .operator import Operator


class Spawning:
    """New vehicles, and vehicles taken out.

    The others fly on, their MAVLink links stay open. Each vehicle keeps its number, from which its
    ports and its system id follow; a new one takes the lowest that is free. The fleet is in the
    order of the numbers.

    Examples:
        >>> import xtdrone as xd
        >>> with xd.Simulation(xd.Scenario(vehicles="iris", gps="rtk")) as sim:
        ...     sim.arm()
        ...     sim.takeoff(2.0)
        ...     name = sim.spawn("typhoon_h480", (5.0, 0.0, 0.0))
        ...     names, height = sim.names, sim.state.pos[0, 2]
        ...     sim.remove(name)
        ...     left = sim.names
        >>> names, bool(height > 1.6), left
        (('iris_0', 'typhoon_h480_1'), True, ('iris_0',))
    """

    _flight: Lockstep
    commands: Commands

    def spawn(
        self,
        vehicle: str | os.PathLike[str],
        pos: tuple[float, float, float],
        yaw: float = 0.0,
        name: str = "",
        backend: Backend | None = None,
        autopilot: str = "",
    ) -> str:
        """Puts a vehicle on the ground or into the air, and returns its name.

        Args:
            vehicle: A name from models/, a path to an SDF file, or a composed one.
            pos: Position of the model's origin, world [m].
            yaw: Counter-clockwise from east [rad].
            name: Empty: its type and number, or the name that `uav0=iris` gives.
            backend: What flies it; None: that of a composed one, or the commands.
            autopilot: Its flight stack; empty: the scenario's.

        Raises:
            XtdroneError: No such vehicle, its name or its place is taken, or the simulation is
                flown by an Agent of its own or recorded; nothing has changed then.
        """
        now = self._flight.scenario.vehicles
        number = min({*range(len(now) + 1)} - {spec.number for spec in now})
        read = Scenario(vehicles=[vehicle]).vehicles[0]  # type: ignore[arg-type]
        if not name:
            named = read.type != os.fspath(vehicle)
            name = read.name if named else re.sub(r"_0$", f"_{number}", read.name)
        if backend is None and isinstance(vehicle, Multirotor) and vehicle.backend is not None:
            backend = vehicle.backend()
        spec = VehicleSpec(
            read.type,
            name,
            (float(pos[0]), float(pos[1]), float(pos[2])),
            float(yaw),
            autopilot,
            number,
        )
        fleet = sorted((*now, spec), key=lambda each: each.number)
        self._change(tuple(fleet), {} if backend is None else {name: backend})
        return name

    def remove(self, name: str) -> None:
        """Takes out a vehicle or an inserted solid by its name.

        Raises:
            XtdroneError: There is none, or it is the only vehicle.
        """
        vehicles = self._flight.scenario.vehicles
        names = [spec.name for spec in vehicles]
        if name not in names:
            inserted = [model.name for model in self._flight.entities.inserted]
            if name not in inserted:
                raise ScenarioError(
                    unknown_name("vehicle or inserted model", name, [*names, *inserted])
                )
            self._flight.remove(name)
        elif len(names) == 1:
            raise XtdroneError(f"'{name}' is the only vehicle: close the simulation instead")
        else:
            self._change(tuple(spec for spec in vehicles if spec.name != name), {})

    def _change(self, vehicles: tuple[VehicleSpec, ...], added: dict[str, Backend]) -> None:
        flight, former = self._flight, self._flight.agent
        if flight.scenario.ros2:
            raise XtdroneError(
                "the vehicles of a simulation with ros2 stay the same, since they "
                "are nodes of ROS 2: leave out ros2"
            )
        names = {spec.name for spec in vehicles}
        if not isinstance(former, (Operator, BackendsAgent)):
            flight.change_fleet(vehicles)  # it says why not
            return
        rows = Rows.of(
            [spec.number for spec in flight.scenario.vehicles], [spec.number for spec in vehicles]
        )

        def make(_: object) -> Agent:
            made = self._operator_after(
                former.rest if isinstance(former, BackendsAgent) else former, rows
            )
            backends = {**added}
            if isinstance(former, BackendsAgent):
                backends = {
                    **{name: backend for name, backend in former.backends.items() if name in names},
                    **added,
                }
            if not backends:
                self.commands.fly(made)
                return made
            agent = BackendsAgent(flight.scenario, backends, made)
            self.commands.fly(made, agent.flown)
            return cast(Agent, agent)  # a cast, as its `done` is read-only

        if isinstance(former, BackendsAgent) and not isinstance(former.rest, Operator):
            flight.change_fleet(vehicles)  # likewise
            return
        flight.change_fleet(vehicles, make)
        if isinstance(former, BackendsAgent) and isinstance(flight.agent, BackendsAgent):
            flight.agent.follow(former, rows)

    def _operator_after(self, former: Agent, rows: Rows) -> Operator:
        n, actuators = self._flight.fleet.actuator.shape
        made = Operator(n, actuators)
        made.load(regrouped(former.save(), made.save(), rows))
        return made
