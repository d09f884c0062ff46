"""Errors of maps, planners and explorers."""

from xtdrone_core.errors import XtdroneError


class PlanningError(XtdroneError):
    """A map, planner or flight through unknown space that cannot be made."""
