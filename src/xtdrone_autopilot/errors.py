"""Errors of the flight stack."""

from xtdrone_core.errors import XtdroneError


class AutopilotError(XtdroneError):
    """A parameter, link or flight-stack option that is invalid."""
