"""Declaration of scenario options, and parsing and validation of their values.

An option is one field of Scenario, made by option(). Command line, launch arguments, YAML, JSON
schema, tab completion and docs/options.md are derived from it; scripts/make_tables.py writes
those that are files.
"""

import argparse
import dataclasses
import ipaddress
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import ScenarioError, shown, unknown_name

_KEY = "option"
_TRUE, _FALSE = ("true", "1"), ("false", "0")


@dataclass(frozen=True)
class Option:
    """Properties of one option, except its name, type and default."""

    help: str  # one line; for numbers without their range, which is added
    unit: str = ""
    metavar: str = ""  # for the command line, where the name is not clear enough
    unset: str = ""  # meaning of an empty value
    choices: tuple[str, ...] = ()  # all that is allowed
    names: Callable[[], Iterable[str]] | None = None  # for tab completion; others may be valid
    minimum: float = -math.inf
    maximum: float = math.inf
    launch: str = ""  # default in launch files; empty = as the scenario says
    affects_flight: bool = True  # False: a snapshot can be loaded with another value


def option(
    default: Any = dataclasses.MISSING,  # a value of the field's type
    help: str = "",
    *,
    default_factory: Any = dataclasses.MISSING,
    **values: Any,
) -> Any:  # the field's type, as dataclasses.field() has it
    """A field of a dataclass that is an option.

    Args:
        default: Its value where none is given.
        help: One line for users.
        default_factory: In place of default.
        **values: Further fields of Option.
    """
    if default is not dataclasses.MISSING:
        return dataclasses.field(default=default, metadata={_KEY: Option(help, **values)})
    return dataclasses.field(
        default_factory=default_factory, metadata={_KEY: Option(help, **values)}
    )


def options_of(cls: type) -> dict[str, tuple[dataclasses.Field[Any], Option]]:
    """Field and Option of each option of a dataclass, by name, in their order."""
    return {f.name: (f, f.metadata[_KEY]) for f in dataclasses.fields(cls) if _KEY in f.metadata}


def default_of(field: dataclasses.Field[Any]) -> Any:  # a value of the field's type
    """The value of a field where none is given."""
    if field.default is not dataclasses.MISSING:
        return field.default
    assert field.default_factory is not dataclasses.MISSING
    return field.default_factory()


def checked(name: str, kind: object, declared: Option, value: object) -> Any:  # a value of `kind`
    """A value of an option in its own type.

    Args:
        name: Name of the option.
        kind: str, float, int or bool.
        declared: What it allows.
        value: In that type, or as a string from a command line.

    Raises:
        ScenarioError: It cannot be read, or is not allowed.
    """
    if kind in (int, float):
        return number(name, value, declared.minimum, declared.maximum, kind is int, declared.unit)
    if kind is bool:
        return _truth(name, value)
    if not isinstance(value, str):
        raise ScenarioError(f"{name} {shown(value)} is not allowed: give a string")
    if declared.choices and value not in declared.choices:
        raise ScenarioError(unknown_name(name, value, filter(None, declared.choices)))
    return value


def number(
    what: str,
    value: object,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    whole: bool = False,
    unit: str = "",
) -> Any:  # int or float
    """A number within its range, from a number or a string.

    Args:
        what: Its name, for messages.
        value: What was given.
        minimum: The smallest that is allowed.
        maximum: The largest.
        whole: Whether it must be an integer.
        unit: For messages.

    Returns:
        An int where whole, else a float.

    Raises:
        ScenarioError: It is no such number.
    """
    read: float = math.nan
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            read = int(value) if whole and isinstance(value, str) else float(value)
        except (ValueError, OverflowError):
            pass
    if not (math.isfinite(read) and minimum <= read <= maximum) or (whole and read != int(read)):
        limits = (f" from {minimum:g}" if minimum > -math.inf else "") + (
            f" to {maximum:g}" if maximum < math.inf else ""
        )
        raise ScenarioError(
            f"{what} {shown(value)} is not allowed: give a {'whole ' * whole}number"
            f"{limits}{' ' * bool(unit)}{unit}"
        )
    return int(read) if whole else float(read)


def number_type(
    what: str,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    whole: bool = False,
    unit: str = "",
) -> Callable[[str], Any]:  # to an int or float
    """number() as the type of an argparse argument; arguments as of number()."""

    def read(text: str) -> Any:  # int or float
        try:
            return number(what, text, minimum, maximum, whole, unit)
        except ScenarioError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def truth_type(what: str) -> Callable[[str], bool]:
    """The type of an argparse argument that is true or false; what is its name, for messages."""

    def read(text: str) -> bool:
        try:
            return _truth(what, text)
        except ScenarioError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def check_address(name: str, address: str) -> None:
    """Refuses what is not an IPv4 address.

    Raises:
        ScenarioError: It is none.
    """
    try:
        ipaddress.IPv4Address(address)
    except ValueError as error:
        raise ScenarioError(
            f"{name} '{shown(address)}' is not an IPv4 address: write it as 192.168.1.20"
        ) from error


def pair(option: str, text: str) -> tuple[str, str]:
    """Name and value of a NAME=VALUE that an option was given.

    Raises:
        ScenarioError: It is no such pair.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ScenarioError(f"cannot read --{option} '{shown(text)}': write NAME=VALUE")
    return name, value


def _truth(name: str, value: object) -> bool:
    text = str(value).lower()
    if text not in (*_TRUE, *_FALSE):
        raise ScenarioError(f"{name} '{shown(value)}' is not allowed: give true or false")
    return text in _TRUE
