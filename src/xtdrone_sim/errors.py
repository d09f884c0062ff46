"""Errors of the simulation."""

from xtdrone_core import XtdroneError


class SdfError(XtdroneError):
    """An SDF file that cannot be read, or that makes no sense; the message names file and line."""


class EngineError(XtdroneError):
    """An engine that cannot do what it was asked to."""


class WindError(XtdroneError):
    """A wind that makes no sense."""
