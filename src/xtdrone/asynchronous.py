"""A simulation whose commands are awaited."""

import asyncio
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from xtdrone_core.errors import XtdroneError
from xtdrone_core.runs.control_link import TICK_US
from xtdrone_core.sealing import sealed

from .commands import Vehicles, Wait
from .simulation import Simulation


@sealed
class AsyncSimulation:
    """A Simulation in asyncio: while one waits, other coroutines go on every 20 ms of its time.

    Several may fly at once in one event loop, beside MAVSDK's or other clients. What does not
    wait is the same as in `plain`: state, callbacks, velocity(), insert() and so on.

    Attributes:
        plain: The Simulation.

    Examples:
        >>> import asyncio
        >>> import xtdrone as xd
        >>> async def flight(height):
        ...     async with xd.AsyncSimulation(xd.Scenario(vehicles="iris", gps="rtk")) as sim:
        ...         await sim.arm()
        ...         await sim.takeoff(height)
        ...         return float(sim.plain.state.pos[0, 2].round())
        >>> async def both():
        ...     return await asyncio.gather(flight(2.0), flight(4.0))
        >>> asyncio.run(both())
        [2.0, 4.0]
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:  # those of Simulation
        """Takes the arguments of Simulation."""
        self.plain = Simulation(*arguments, **options)

    async def __aenter__(self) -> "AsyncSimulation":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.plain.close()

    async def run(self, seconds: float | None = None) -> None:
        """Does the same as Simulation.run().

        Raises:
            XtdroneError: No time is given and there is nothing to end the flight.
        """
        plain = self.plain
        end = None if seconds is None else plain.time + seconds
        while end is None or plain.time < end - 1e-9:
            if end is None:
                plain.check_end()
            plain.run(TICK_US * 1e-6 if end is None else min(TICK_US * 1e-6, end - plain.time))
            await asyncio.sleep(0)
            if plain.done:
                return

    async def run_until(
        self, condition: Callable[[], ArrayLike], what: str, time_out: float = 60.0
    ) -> None:
        """Does the same as Simulation.run_until().

        Raises:
            XtdroneError: The time-out came first.
        """
        end = self.plain.time + time_out
        while not np.all(condition()):
            if self.plain.time >= end:
                raise XtdroneError(self.plain.late(what, time_out))
            await self.run(TICK_US * 1e-6)

    async def arm(self, vehicles: Vehicles = None, *, time_out: float = 60.0) -> None:
        """Does the same as Simulation.arm()."""
        await self._do(self.plain.commands.arm(vehicles, time_out))

    async def takeoff(
        self, height: float, vehicles: Vehicles = None, *, time_out: float = 60.0
    ) -> None:
        """Does the same as Simulation.takeoff()."""
        await self._do(self.plain.commands.takeoff(height, vehicles, time_out))

    async def goto(
        self,
        pos: ArrayLike,
        vehicles: Vehicles = None,
        *,
        yaw: ArrayLike = np.nan,
        time_out: float = 60.0,
    ) -> None:
        """Does the same as Simulation.goto()."""
        await self._do(self.plain.commands.goto(pos, vehicles, yaw, time_out))

    async def land(self, vehicles: Vehicles = None, *, time_out: float = 60.0) -> None:
        """Does the same as Simulation.land()."""
        await self._do(self.plain.commands.land(vehicles, time_out))

    async def _do(self, waits: Iterator[Wait]) -> None:
        for each in waits:
            await self.run_until(*each)
