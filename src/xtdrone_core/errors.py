"""Base class of all errors that the workspace raises on purpose.

A message names the given value, the allowed values and the remedy. Each package
has its own subclass; the command line and the nodes print the message as
one line and exit with its status, so a user never sees a traceback for it.
"""

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path

# Exit status of a flight, where it is not 0.
CRASHED = 3  # a vehicle has crashed
INTERRUPTED = 130  # by Ctrl-C, as shells count it
MISSED = 4  # none has, but the Agent reached less than it was asked for
_SHOWN = 160  # characters of a given value in a message
_ALIKE = 0.4  # likeness of names that begin alike, from 0 to 1
_LISTED = 40  # names that a message lists; of more, the nearest


class XtdroneError(Exception):
    """Base class of all errors that a user can cause and fix; its text is one line.

    Attributes:
        status: Exit status of the command that it ends.

    Examples:
        >>> import xtdrone as xd
        >>> try:
        ...     xd.load_vehicle("nothing.sdf")
        ... except xd.XtdroneError as error:
        ...     print(error.status)
        1
    """

    status = 1

    def __str__(self) -> str:
        return one_line(super().__str__())


class ScenarioError(XtdroneError):
    """An invalid scenario, launch argument or option.

    Examples:
        >>> import xtdrone as xd
        >>> try:
        ...     xd.Scenario(vehicles="irus")
        ... except xd.ScenarioError as error:
        ...     print(str(error)[-20:])
        did you mean 'iris'?
    """


class ControlError(XtdroneError):
    """The control socket of a simulation does not answer, or refuses.

    Attributes:
        code: What a program may ask for, beside the text for people: no_model, no_link, no_joint,
            no_frame, exists; or empty.
    """

    def __init__(self, message: str = "", code: str = ""):
        """Has a text, and a code for what is missing or there already."""
        super().__init__(message)
        self.code = code


def one_line(text: str) -> str:
    """A text without line breaks, control characters and halves of characters."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def shown(value: object) -> str:
    """A value that was given, for a message: one line, of a long one its begin and end."""
    text = one_line(str(value))
    half = _SHOWN // 2
    return text if len(text) <= _SHOWN else f"{text[:half]}...{text[-half:]}"


def failure(what: str, error: Exception) -> str:
    """One line for an error of ours, with its place, where a traceback is of no use.

    Args:
        what: What failed, for example a message by its name.
        error: With its traceback.
    """
    place = traceback.extract_tb(error.__traceback__)[-1]
    return one_line(
        f"{what} failed, please report it: {type(error).__name__}: {error} "
        f"({Path(place.filename).name}, line {place.lineno})"
    )


def unknown_name(what: str, given: object, allowed: Iterable[str], also: str = "") -> str:
    """One line for a name that is not in a list, with the nearest allowed one.

    Args:
        what: Kind of thing, for example "vehicle".
        given: The name that was given.
        allowed: Iterable of the names that exist.
        also: What else is allowed.

    Returns:
        The message.
    """
    names = sorted(allowed)
    near = _nearest(str(given)[:_SHOWN], names)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    choice = ", ".join(names) or "(none found)"
    if len(names) > _LISTED:
        choice = f"the {len(names)} that exist" + (f", such as {', '.join(near)}" if near else "")
    return f"unknown {what} '{shown(given)}': choose one of {choice}{also and ', or ' + also}{hint}"


def _nearest(given: str, names: list[str]) -> list[str]:
    """Returns at most three names like a given one, first those that begin as it does."""
    begin_alike = [name for name in names if name[:2] == given[:2]]
    near = difflib.get_close_matches(given, begin_alike, n=3, cutoff=_ALIKE)
    return list(dict.fromkeys([*near, *difflib.get_close_matches(given, names, n=3)]))[:3]
