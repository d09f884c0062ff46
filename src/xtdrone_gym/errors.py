"""Errors of learning and of policies."""

from xtdrone_core.errors import XtdroneError


class LearningError(XtdroneError):
    """A task, a policy or an option of learning is invalid."""
