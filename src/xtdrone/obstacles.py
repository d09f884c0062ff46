"""Solids that are put into a running simulation, moved and taken out again."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.quaternion import from_euler
from xtdrone_sim.simulation import Simulation as Lockstep
from xtdrone_sim.vehicles.pose import Pose

if TYPE_CHECKING:
    from .compose.part import Vector
    from .compose.solids import Solid

_STILL = (0.0, 0.0, 0.0)


class Obstacles:
    """Obstacles; those with a mass fall and can be pushed.

    Examples:
        >>> import xtdrone as xd
        >>> with xd.Simulation(xd.Scenario(vehicles="iris")) as sim:
        ...     name = sim.insert(xd.Box(size=(1.0, 1.0, 1.0), mass=2.0, pos=(4.0, 0.0, 3.0)))
        ...     sim.run(1.5)
        ...     height = sim.where(name)[2]
        ...     sim.remove(name)
        >>> bool(abs(height - 0.5) < 0.01)
        True
    """

    _flight: Lockstep

    def insert(self, solid: "Solid") -> str:
        """Puts a solid into the world where its pos and rpy say, and returns its name.

        Raises:
            XtdroneError: Its name is taken, or the engine cannot take it.
        """
        taken, number = self._flight.entities.models, 0
        name = solid.name
        while not name:
            name = f"{solid.kind}_{number}"
            if name in taken:
                name, number = "", number + 1
        pose = Pose(tuple(map(float, solid.pos)), from_euler(*map(float, solid.rpy)))
        self._flight.insert(replace(solid, name=name).sdf(), name, pose)
        return name

    def where(self, name: str) -> np.ndarray:
        """Returns position (3,) of a vehicle, model or actor by its name, world [m].

        Raises:
            XtdroneError: There is none.
        """
        flight, entities = self._flight, self._flight.entities
        for actor in flight.world.actors:
            if actor.name == name:
                return np.array(actor.pose(flight.t_us * 1e-6).pos)
        return entities.table([entities.model(name)])[0, :3]

    def place(
        self, name: str, pos: "Vector", rpy: "Vector" = _STILL, vel: "Vector" = _STILL
    ) -> None:
        """Moves a vehicle or an inserted solid.

        Args:
            name: Name of the vehicle or solid.
            pos: World [m].
            rpy: Roll, pitch and yaw [rad].
            vel: World [m/s].

        Raises:
            XtdroneError: There is none, or it belongs to the world's file.
        """
        state = np.array([*pos, *from_euler(*map(float, rpy)), *vel, *_STILL], dtype=float)
        if state.shape != (13,) or not np.isfinite(state).all():
            raise XtdroneError(
                f"'{name}' cannot be moved to pos {pos}, rpy {rpy}, vel {vel}: give "
                "three finite numbers each"
            )
        self._flight.entities.place(self._flight.entities.model(name), state, "")
