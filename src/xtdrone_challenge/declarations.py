"""The names of the challenges, for commands and completions before NumPy is loaded."""

from xtdrone_core import registry

CHALLENGES = registry.Group(
    "challenge", "xtdrone.challenges", "xtdrone_challenge.challenge:Challenge"
)
