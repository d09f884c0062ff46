"""The root of every error that the workspace raises on purpose.

A message says what was given, what is allowed, and what to do. Each package
has a subclass of its own; the command line and the nodes print the message as
one line and exit with status 1, so a user never sees a traceback for it.
"""

import difflib
from collections.abc import Iterable


class XtdroneError(Exception):
    """Root of all errors that a user can cause and mend."""


class ScenarioError(XtdroneError):
    """A scenario, launch argument or option that makes no sense."""


class ControlError(XtdroneError):
    """The control socket of a simulation does not answer, or refuses."""


def unknown_name(what: str, given: object, allowed: Iterable[str], also: str = "") -> str:
    """One line for a name that is not in a list, with the nearest allowed one.

    Args:
        what: Kind of thing, for example "vehicle".
        given: The name that was given.
        allowed: Iterable of the names that exist.
        also: What is allowed beside the names.

    Returns:
        The message.
    """
    names = sorted(allowed)
    near = difflib.get_close_matches(str(given), names, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    choice = ", ".join(names) or "(none found)"
    return f"unknown {what} '{given}': choose one of {choice}{also and ', or ' + also}{hint}"
