"""Declaration of a health or arming check: PX4's event of it, and the modes that it forbids.

A check is declared where its condition is: by a class in conditions/, or in arming_checks.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np

from xtdrone_core.modes import NAV_STATES, Requirement

from ..state.events import event_number
from ..state.outbox import CRITICAL

ALL = 0xFFFFFFFF  # modes


class Component(IntEnum):
    """Component that a check is about: PX4's health_component_t, as the number of its bit."""

    ABSOLUTE_PRESSURE = 1
    GPS = 3
    REMOTE_CONTROL = 7
    MOTORS_ESCS = 8
    BATTERY = 11
    COMMUNICATION_LINKS = 12
    LOCAL_POSITION_ESTIMATE = 17
    SYSTEM = 20
    MAGNETOMETER = 27
    GYRO = 29


class Level(IntEnum):
    """Severity of a check: levels of events."""

    EMERGENCY = 0
    CRITICAL = 2
    ERROR = 3
    WARNING = 4
    INFO = 6
    PROTOCOL = 8


def modes_with(requirement: Requirement) -> int:
    """The modes that require something, as PX4's bits: 1 << nav_state."""
    return sum(1 << number for number, state in NAV_STATES.items() if requirement in state.requires)


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes:
        name: PX4's, of its event.
        message: For users.
        component: What it is about.
        level: From ERROR on it is counted as an error, a WARNING as a warning.
        modes: Modes that a ground station shows it for, bits of nav_state.
        blocks: Modes that the vehicle cannot be armed in while it fails; None = `modes`.
        stops: Modes that it cannot change to.
        text: STATUSTEXT that PX4 sends with it, for other ground stations; "" = none.
        severity: MAV_SEVERITY of the text.
        health: It is about a part that is broken, not about what the vehicle does.
        argument: Format of one more argument of the event, by `struct`; "" = it has none.
    """

    name: str
    message: str
    component: Component
    level: Level
    modes: int = ALL
    blocks: int | None = None
    stops: int = 0
    text: str = ""
    severity: int = CRITICAL
    health: bool = False
    argument: str = ""

    @property
    def number(self) -> int:
        """Number of its event."""
        return event_number(self.name)

    @property
    def blocked(self) -> int:
        """Modes that the vehicle cannot be armed in while it fails."""
        return self.modes if self.blocks is None else self.blocks


def of_mode(requirement: Requirement, name: str, message: str, level: Level) -> Check:
    """The check that a requirement of modes is met."""
    modes = modes_with(requirement)
    return Check(name, message, Component.SYSTEM, level, modes, stops=modes)


class CheckTable(Protocol):
    """The checks of a fleet, as conditions write and explain theirs."""

    def columns(self, checks: Sequence[Check]) -> np.ndarray:
        """(N, len(checks)) bool, which fail; to write to."""

    def explain(
        self,
        checks: Sequence[Check],
        why: Callable[[int], str],
        argument: Callable[[int], float] | None = None,
    ) -> None:
        """Sets who tells why vehicle i may not be armed, and the argument of the events."""
