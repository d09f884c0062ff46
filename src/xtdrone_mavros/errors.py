"""Errors of this package."""

from xtdrone_core.errors import XtdroneError


class MavrosError(XtdroneError):
    """The link to the vehicles, or a command to one of them, cannot do what was asked."""
