"""Errors of the simulation."""

from xtdrone_core import XtdroneError


class SdfError(XtdroneError):
    """An SDF file that cannot be read, or that is invalid; the message names file and line."""


class EngineError(XtdroneError):
    """An engine that fails, or lacks a feature that was requested."""


class WorldError(XtdroneError):
    """A model, link or frame that the world does not have, or that cannot be changed so."""


class WindError(XtdroneError):
    """An invalid wind."""


class ViewError(XtdroneError):
    """A recording of a flight that cannot be shown, or a window or film that cannot be made."""
