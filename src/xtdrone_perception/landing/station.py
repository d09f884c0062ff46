"""The option `landing_marker`: cameras look for a landing target in any flight."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xtdrone_core.contracts import Observer
from xtdrone_core.scenario.options import option
from xtdrone_core.stations import Station

if TYPE_CHECKING:  # slow to import
    from xtdrone_sim.simulation import Simulation

LIBRARIES = ("opencv", "apriltag")


@dataclass(frozen=True)
class LandingMarker(Station):
    """Markers on which AUTO.PRECLAND, missions and returns land."""

    landing_marker: str = option(
        "",
        "the vehicles' cameras look for this landing target, nested markers from the largest to "
        "the smallest with the size of the largest [m]: tag36h11:0,1,2:0.8",
        metavar="FAMILY:ID,...:SIZE",
        unset="none",
    )
    marker_library: str = option(
        "opencv", "what finds them; apriltag is that of AprilTag's authors", choices=LIBRARIES
    )

    @property
    def wanted(self) -> bool:
        """Whether the scenario asks for it."""
        return bool(self.landing_marker)

    def open(self, simulation: "Simulation") -> Observer:
        """Returns what looks at the images."""
        from ..markers.picture import nested_of
        from .tracker import landing_tracker

        return landing_tracker(simulation, nested_of(self.landing_marker), self.marker_library)
