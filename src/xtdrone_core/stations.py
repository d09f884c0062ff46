"""Stations: what shows, records or commands a running simulation, beside the flight itself.

The page, ROS 2, Foxglove, the viewers. Each is a frozen dataclass of its options; an entry point
in the group `xtdrone.stations` names it, also another package's:

    [project.entry-points."xtdrone.stations"]
    lights = "my_package.lights:Lights"
"""

from typing import Any, ClassVar

from .contracts import Observer
from .errors import ScenarioError
from .scenario.declared import DeclaredOptions, FleetSettings, options_of_autopilot
from .scenario.scenario import Scenario


class Station(DeclaredOptions):
    """Base class of a station.

    Attributes:
        COMMANDS: Whether vehicles are commanded through it. Then they have MAVLink links, the
            simulation a control socket, and its steps are paced one by one.
        AWAITED: Whether a simulation as fast as possible begins once the station has connected.

    Examples:
        >>> from dataclasses import dataclass
        >>> import xtdrone as xd
        >>> from xtdrone_core.scenario.options import option
        >>> from xtdrone_core.stations import Station
        >>> class Heights(xd.Observer):
        ...     def on_step(self, t_us, state, sensors):
        ...         print(state.pos[:, 2])
        >>> @dataclass(frozen=True)
        ... class Heightometer(Station):
        ...     heights: bool = option(False, "print all heights", affects_flight=False)
        ...
        ...     @property
        ...     def wanted(self):
        ...         return self.heights
        ...
        ...     def open(self, simulation):
        ...         return Heights()
    """

    COMMANDS: ClassVar[bool] = False
    AWAITED: ClassVar[bool] = False

    @property
    def wanted(self) -> bool:
        """Whether the scenario asks for it."""
        raise NotImplementedError

    # A Simulation of xtdrone_sim, which this package cannot import.
    def open(self, simulation: Any) -> Observer | None:
        """Opens the station, and returns the observer that feeds it, if it needs one.

        Raises:
            XtdroneError: It cannot be opened.
        """
        raise NotImplementedError


def check_commands(name: str, fleet: FleetSettings) -> None:
    """Refuses a fleet that a station cannot command; name is its option.

    Raises:
        ScenarioError: Modes that are not PX4's, or numbers that are not the places in the list.
    """
    other = next(
        (each for each in fleet.autopilots if not options_of_autopilot(each).PX4_MODES), None
    )
    if other is not None:
        raise ScenarioError(
            f"{name} true cannot be used with autopilot {other}, "
            "whose modes are not PX4's: leave one of them out"
        )
    if fleet.ports.numbers != tuple(range(fleet.n)):
        raise ScenarioError(
            f"{name} true needs vehicles whose numbers are their places in "
            "the list: leave the numbers out"
        )


def wanted_stations(scenario: Scenario) -> list[Station]:
    """The stations that a scenario asks for, in the order in which they are opened."""
    return [
        station for station in scenario.declared if isinstance(station, Station) and station.wanted
    ]


def open_stations(simulation: Any) -> None:  # see Station.open()
    """Opens the stations of a Simulation, and appends their observers to its own.

    Raises:
        XtdroneError: One cannot be opened.
    """
    for station in wanted_stations(simulation.scenario):
        observer = station.open(simulation)
        if observer is not None:
            simulation.observers.append(observer)
