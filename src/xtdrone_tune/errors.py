"""The error of this package."""

from xtdrone_core.errors import XtdroneError


class TuneError(XtdroneError):
    """Gains that cannot be tuned as asked."""
