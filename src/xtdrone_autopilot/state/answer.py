"""Answers to requests and commands: a MAV_RESULT and its reason."""

from dataclasses import dataclass

from xtdrone_core.mavlink.dialect import mavlink

ACCEPTED = mavlink.MAV_RESULT_ACCEPTED
REJECTED = mavlink.MAV_RESULT_TEMPORARILY_REJECTED
DENIED = mavlink.MAV_RESULT_DENIED
NO_ANSWER = -1  # instead of a MAV_RESULT: no COMMAND_ACK, as in PX4


@dataclass(frozen=True)
class Answer:
    """Result of a request: a MAV_RESULT, and the reason if it was rejected."""

    result: int
    reason: str = ""

    @property
    def accepted(self) -> bool:
        """Returns whether the request was granted."""
        return self.result == ACCEPTED
