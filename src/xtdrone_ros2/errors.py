"""The error of this package."""

from xtdrone_core import XtdroneError


class Ros2Error(XtdroneError):
    """ROS 2's topics cannot be offered."""
