"""Options of a scenario for real ArduPilot."""

from dataclasses import dataclass

from xtdrone_core.scenario.declared import AutopilotOptions
from xtdrone_core.scenario.options import option

from ..common.options import ALL_PARTS


@dataclass(frozen=True)
class ArduPilotOptions(AutopilotOptions):
    """The program that is started."""

    OWN_PARTS = ALL_PARTS
    PX4_MODES = False

    ardupilot: str = option(
        "",
        "build folder or binary of ArduPilot, for autopilot ardupilot",
        metavar="PATH",
        unset="ARDUPILOT_BUILD, or ArduPilot is started by hand",
    )
