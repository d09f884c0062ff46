"""Errors of this package."""

from xtdrone_core.errors import XtdroneError


class Ros1Error(XtdroneError):
    """A node of ROS 1 cannot do what was asked."""
