"""Options of a scenario for real PX4."""

from dataclasses import dataclass
from typing import Any

from xtdrone_core.scenario.declared import AutopilotOptions
from xtdrone_core.scenario.options import option

from ..common.options import ALL_PARTS


def px4_loss() -> Any:  # a field of a dataclass
    """The option `px4_loss`."""
    return option(
        "stop",
        "if a PX4 process is lost: stop, or continue with the other vehicles",
        choices=("stop", "continue"),
    )


@dataclass(frozen=True)
class Px4Options(AutopilotOptions):
    """The program that is started, and the reaction to its loss."""

    OWN_PARTS = ALL_PARTS
    REAL_PX4 = True

    px4: str = option(
        "",
        "build folder or binary of PX4, for autopilot px4",
        metavar="PATH",
        unset="PX4_BUILD, or PX4 is started by hand",
    )
    px4_loss: str = px4_loss()
