"""Errors of challenges."""

from xtdrone_core.errors import XtdroneError


class ChallengeError(XtdroneError):
    """A challenge, team or result that cannot be."""


class RefusedError(ChallengeError):
    """A team did what the rules forbid."""


class ProgramError(ChallengeError):
    """A team's program has failed."""
