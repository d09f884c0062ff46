"""Options that several real flight stacks have in common."""

from typing import Any

from xtdrone_autopilot.options import PARTS
from xtdrone_core.scenario.options import option

ALL_PARTS = tuple(PARTS)  # all parts of the embedded flight stack


def serial() -> Any:  # a field of a dataclass
    """The option `serial`."""
    return option(
        "",
        "serial device of each vehicle's flight controller, for autopilots "
        "px4_hitl and paparazzi: 'DEVICE[:BAUD], ...'",
        metavar="LIST",
        unset="none",
    )
