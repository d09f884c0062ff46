"""Errors of challenges."""

from xtdrone_core.errors import XtdroneError


class ChallengeError(XtdroneError):
    """A challenge, team or result that cannot be, or something that the rules forbid."""
