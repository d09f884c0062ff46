"""Stations of this package: the engine's window, and PX4's own viewer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtdrone_core.contracts import Observer
from xtdrone_core.scenario.options import option
from xtdrone_core.stations import Station

if TYPE_CHECKING:  # slow to import
    from .simulation import Simulation


@dataclass(frozen=True)
class Window(Station):
    """The window of the engine."""

    gui: bool = option(False, "open a window that shows the flight", affects_flight=False)

    @property
    def wanted(self) -> bool:
        """Whether the scenario asks for it."""
        return self.gui

    def open(self, simulation: "Simulation") -> None:
        """Opens the window."""
        simulation.open_viewer()


@dataclass(frozen=True)
class Px4ViewerStation(Station):
    """PX4's own viewer, which gets true states."""

    viewer: bool = option(
        False,
        "send true states to PX4's own viewer on this machine "
        "(HIL_STATE_QUATERNION, UDP 19410 and up)",
        affects_flight=False,
    )

    @property
    def wanted(self) -> bool:
        """Whether the scenario asks for it."""
        return self.viewer

    def open(self, simulation: "Simulation") -> Observer:
        """Opens the socket."""
        from .viewing.px4_viewer import Px4Viewer

        return Px4Viewer(simulation.scenario, simulation.world)
