"""Errors of the batch simulation."""

from xtdrone_core.errors import XtdroneError


class BatchError(XtdroneError):
    """A batch, its worlds, its cameras or an action is invalid."""
