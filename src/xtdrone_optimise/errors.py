"""The error of this package."""

from xtdrone_core.errors import XtdroneError


class OptimiseError(XtdroneError):
    """A study that cannot be run as asked."""
