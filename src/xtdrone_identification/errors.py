"""The error of this package."""

from xtdrone_core.errors import XtdroneError


class IdentificationError(XtdroneError):
    """A log or a vehicle from which parameters cannot be identified as asked."""
