"""Errors of the physics."""

from xtdrone_core import XtdroneError


class DynamicsError(XtdroneError):
    """A physical parameter that makes no sense."""
