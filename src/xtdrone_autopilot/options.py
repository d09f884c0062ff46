"""Options of a scenario for the embedded flight stack: the parts that may be replaced."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from xtdrone_core.errors import ScenarioError
from xtdrone_core.registry import Group
from xtdrone_core.scenario.declared import AutopilotOptions, FleetSettings, options_of_autopilot
from xtdrone_core.scenario.options import option

# The parts that a scenario may replace, by the name of their option.
PARTS = {
    part: Group(part, f"xtdrone.{part}", f"xtdrone_autopilot.interfaces:{contract}")
    for part, contract in (
        ("estimator", "Estimator"),
        ("position_control", "ControlLoop"),
        ("velocity_control", "ControlLoop"),
        ("attitude_control", "ControlLoop"),
        ("rate_control", "ControlLoop"),
        ("mixer", "Mixer"),
    )
}


def descriptions() -> dict[str, str]:
    """Describes each class that a part may be, for `xtdrone list`."""
    return {
        f"{part} {name}": text
        for part, group in PARTS.items()
        for name, text in group.descriptions().items()
    }


def _part(name: str) -> Any:  # a field of a dataclass
    return option(
        "embedded",
        f"{name.replace('_', ' ')} of the embedded autopilot, module:Class or FILE.py:Class",
        names=PARTS[name].names,
    )


@dataclass(frozen=True)
class EmbeddedOptions(AutopilotOptions):
    """The class of each part, as a registered name or as module:Class."""

    SIGNED_LINKS = True

    estimator: str = _part("estimator")
    position_control: str = _part("position_control")
    velocity_control: str = _part("velocity_control")
    attitude_control: str = _part("attitude_control")
    rate_control: str = _part("rate_control")
    mixer: str = _part("mixer")
    arm_feedforward: str = option(
        "auto",
        "feed forward the torque of the centre of gravity that an arm moves; auto: unless the rate "
        "control measures it, as INDI does",
        choices=("auto", "on", "off"),
    )

    def check(self, fleet: FleetSettings) -> None:
        """Refuses a part that no autopilot of the fleet would use."""
        for part, name in self.parts().items():
            PARTS[part].check(name)
            if name != "embedded" and all(part in own for own in _own_parts(fleet.autopilots)):
                raise ScenarioError(
                    f"{part} '{name}' cannot be flown by autopilot "
                    f"{fleet.flown_by}, which has its own: leave one of them out"
                )

    def parts(self) -> dict[str, str]:
        """The name of the class of each part."""
        return {part: getattr(self, part) for part in PARTS}


def _own_parts(autopilots: Iterable[str]) -> list[tuple[str, ...]]:
    return [options_of_autopilot(name).OWN_PARTS for name in autopilots]
