"""Options of a scenario for PX4 on a flight controller."""

from dataclasses import dataclass

from xtdrone_core.scenario.declared import AutopilotOptions

from ..common.options import ALL_PARTS, serial
from ..px4.options import px4_loss


@dataclass(frozen=True)
class Px4HitlOptions(AutopilotOptions):
    """The serial devices, and what follows from the loss of one."""

    OWN_PARTS = ALL_PARTS
    REAL_PX4 = True

    px4_loss: str = px4_loss()
    serial: str = serial()
