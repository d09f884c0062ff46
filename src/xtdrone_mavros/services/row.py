"""What a row of the table of services is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xtdrone_core.errors import XtdroneError
from xtdrone_core.mavlink.dialect import mavlink


@dataclass(frozen=True)
class Service:
    """One service below V/mavros/."""

    name: str
    type: str
    answer: Callable  # of the bridge's Vehicle and a request; gives the fields of the response


class ServiceFailed(XtdroneError):
    """A call that MAVROS answers with an error in place of a response."""


def command(v: Any, number: int, *params: float, confirmation: int = 1) -> tuple:
    """Sends a command; gives success and result of MAVROS's responses."""
    result = v.requests.command_long(number, params, confirmation)
    return result == mavlink.MAV_RESULT_ACCEPTED, result
