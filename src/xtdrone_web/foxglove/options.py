"""Foxglove and MCAP as a station of a scenario."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtdrone_core.contracts import Observer
from xtdrone_core.scenario.options import option
from xtdrone_core.stations import Station

if TYPE_CHECKING:  # slow to import
    from xtdrone_sim.simulation import Simulation


@dataclass(frozen=True)
class Foxglove(Station):
    """A live server for Foxglove, and a recording as MCAP."""

    foxglove: bool = option(
        False,
        "serve the fleet to Foxglove and Lichtblick on this machine; the address is printed",
        affects_flight=False,
    )
    mcap: bool = option(
        False,
        "record run.mcap in the run folder, for Foxglove, Lichtblick and xtdrone replay",
        affects_flight=False,
    )

    @property
    def wanted(self) -> bool:
        """Whether the scenario asks for the server or for the recording."""
        return self.foxglove or self.mcap

    def open(self, simulation: "Simulation") -> Observer:
        """Starts the server, whose address is printed, and the recording."""
        from .telemetry import Telemetry

        telemetry = Telemetry(simulation)
        if telemetry.url:
            print(f"Foxglove: {telemetry.url}", flush=True)
        return telemetry
