"""Errors of the simulation."""

from xtdrone_core import XtdroneError


class SdfError(XtdroneError):
    """An SDF file that cannot be read, or that is invalid; the message names file and line."""


class EngineError(XtdroneError):
    """An engine that fails, or lacks a feature that was requested."""


class WorldError(XtdroneError):
    """A model, link or frame that the world does not have, or that cannot be changed so.

    Attributes:
        code: As of ControlError.
    """

    def __init__(self, message: str, code: str = ""):
        """Has a text, and a code for what is missing or there already."""
        super().__init__(message)
        self.code = code


class WindError(XtdroneError):
    """An invalid wind."""


class WaveError(XtdroneError):
    """Waves that are invalid, or that a world has no water for."""


class ViewError(XtdroneError):
    """A recording of a flight that cannot be shown, or a window or film that cannot be made."""
