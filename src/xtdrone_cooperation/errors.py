"""Errors of cooperating vehicles."""

from xtdrone_core.errors import XtdroneError


class CooperationError(XtdroneError):
    """Tasks, or a flight that shares them out, that cannot be made."""
