"""Options of a scenario for real Betaflight."""

from dataclasses import dataclass

from xtdrone_core.scenario.declared import AutopilotOptions
from xtdrone_core.scenario.options import option


@dataclass(frozen=True)
class BetaflightOptions(AutopilotOptions):
    """The program that is started. The embedded flight stack has the outer loops."""

    OWN_PARTS = ("rate_control", "mixer")
    SIGNED_LINKS = True

    betaflight: str = option(
        "",
        "build folder or binary of Betaflight's SITL, for autopilot betaflight",
        metavar="PATH",
        unset="BETAFLIGHT_BUILD, or Betaflight is started by hand",
    )
