"""The page as a station of a scenario."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtdrone_core.contracts import Observer
from xtdrone_core.scenario.declared import FleetSettings
from xtdrone_core.scenario.options import check_address, option
from xtdrone_core.stations import Station, check_commands

if TYPE_CHECKING:  # slow to import
    from xtdrone_sim.simulation import Simulation


@dataclass(frozen=True)
class Page(Station):
    """A page that shows and flies the fleet."""

    COMMANDS = True

    web: bool = option(
        False,
        "serve a page that shows and flies the fleet; its link is printed",
        affects_flight=False,
    )
    web_address: str = option(
        "127.0.0.1",
        "IPv4 address on which the page is served; 0.0.0.0 is every network of this machine",
        metavar="ADDRESS",
        affects_flight=False,
    )

    @property
    def wanted(self) -> bool:
        """Whether the scenario asks for it."""
        return self.web

    def check(self, fleet: FleetSettings) -> None:
        """Refuses an address that is none, and a fleet that the page cannot command."""
        check_address("web_address", self.web_address)
        if self.web:
            check_commands("web", fleet)

    def open(self, simulation: "Simulation") -> Observer:
        """Starts the server, and prints the address of the page."""
        from .station import Station as Observing

        station = Observing(simulation, self.web_address)
        print(
            f"page: {station.url}\npage for viewers, who cannot command: {station.watch_url}",
            flush=True,
        )
        return station
