"""Options of a scenario for Paparazzi."""

from dataclasses import dataclass

from xtdrone_core.scenario.declared import AutopilotOptions

from ..common.options import ALL_PARTS, serial


@dataclass(frozen=True)
class PaparazziOptions(AutopilotOptions):
    """The serial devices."""

    OWN_PARTS = ALL_PARTS
    PX4_MODES = False

    serial: str = serial()
