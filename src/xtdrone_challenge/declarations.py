"""The names of the challenges, for commands and completions before NumPy is loaded."""

from xtdrone_core import registry

DOORS = ("mavlink", "ros1", "ros2")  # by which programs of their own fly
CHALLENGES = registry.Group(
    "challenge", "xtdrone.challenges", "xtdrone_challenge.challenge:Challenge"
)
