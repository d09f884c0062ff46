"""The exception of this package."""

from xtdrone_core import XtdroneError


class FormationError(XtdroneError):
    """A formation, transition, scheme or network that cannot be flown."""
