"""The error of this package."""

from xtdrone_core.errors import XtdroneError


class PerceptionError(XtdroneError):
    """Pictures, markers or detections that cannot be made as asked."""
