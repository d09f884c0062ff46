"""Errors of this package."""

from xtdrone_core.errors import XtdroneError


class ControlNodeError(XtdroneError):
    """A node or its link to the vehicles cannot do what was asked."""


class TeleoperationError(XtdroneError):
    """Gains, sticks or a flight record of the teleoperation cannot be used."""
