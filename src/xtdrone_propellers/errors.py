"""Errors of propellers and their files."""

from xtdrone_core.errors import XtdroneError


class PropellerError(XtdroneError):
    """A propeller, or a file of one, that cannot be used."""
