"""Options of a class that a scenario or a command names: an Agent, a formation scheme.

They are the arguments of its constructor, declared there and nowhere else. Name, type and default
are those of the argument; meaning, unit and range are an Option in its annotation:

    def __init__(self, n: int = 1,
                 radius: Annotated[float, Option("of the circle", unit="m", minimum=0.5)] = 3.0,
                 on_event=None): ...

An argument without an Option is one as well. A constructor that hands `**more` on has the
arguments of its base class too, and the options of the dataclasses in the annotation of `**more`.
A class that gives its base class some of them itself, or has the options of a part that one of them
names, is a Configured. `n` and `on_event` are the flight's.
"""

import argparse
import dataclasses
import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from .. import files
from ..errors import ScenarioError, XtdroneError, unknown_name
from .options import Option, checked, default_of, options_of, pair

REQUIRED = inspect.Parameter.empty
_OF_THE_FLIGHT = "self", "n", "on_event"
_SCALARS = (str, int, float, bool)
_NONE = "", "none", "null"  # words for the value None
_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


@dataclass(frozen=True)
class Argument:
    """One option of a class."""

    name: str
    kind: Any  # its annotation without Annotated; Any where there is none
    default: Any  # REQUIRED where it must be given
    option: Option  # its help is empty if the class declares none

    def read(self, text: str) -> Any:  # a value of type `kind`
        """The value of a text from a command line, in its own type.

        Raises:
            ScenarioError: It cannot be read, or is not allowed.
        """
        kinds, optional = _alternatives(self.kind)
        if optional and text.lower() in _NONE:
            return None
        kind = kinds[0] if len(kinds) == 1 or kinds[0] in _SCALARS else Any
        if kind is float and text == "inf" and self.default == math.inf:
            return math.inf
        if kind in _SCALARS:
            return checked(self.name, kind, self.option, text)
        value = files.parse_yaml(text, f"the value of {self.name}", ScenarioError)
        item = _item(kind)
        if item is None:
            return value
        if not isinstance(value, list):
            value = [word.strip() for word in text.split(",") if word.strip()]
        return tuple(checked(f"{self.name}: an entry", item, self.option, entry) for entry in value)

    def type(self) -> str:
        """Its type in words."""
        kinds, optional = _alternatives(self.kind)
        item = _item(kinds[0])
        words = f"list of {_WORDS[item]}s" if item else _WORDS.get(kinds[0], "YAML")
        return (", ".join(filter(None, self.option.choices)) or words) + ", or none" * optional

    def usual(self) -> str:
        """Its default in words, as it could be given."""
        value = self.default
        if value is REQUIRED:
            return "must be given"
        if value is None or value in ("", ()) or value != value:
            return self.option.unset or "none"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (list, tuple)):
            return ",".join(map(str, value))
        return f"{value:g}" if isinstance(value, float) else str(value)

    def meaning(self) -> str:
        """Its meaning, range and unit."""
        option = self.option
        minimum, maximum = (
            f"{limit:g}" if abs(limit) < math.inf else ""
            for limit in (option.minimum, option.maximum)
        )
        limits = (
            f"{minimum} to {maximum}"
            if minimum and maximum
            else f"from {minimum}"
            if minimum
            else ""
        )
        return ", ".join(filter(None, (option.help, limits))) + (
            f" [{option.unit}]" if option.unit else ""
        )

    def row(self) -> dict[str, Any]:
        """Returns type, default, meaning and unit, for programs."""
        return {
            "type": self.type(),
            "default": self.usual(),
            "meaning": self.meaning(),
            "unit": self.option.unit,
        }


class Configured:
    """Base class of a class whose options are not just those of its constructors.

    Attributes:
        FIXED: Options of base classes that it gives them itself.
    """

    FIXED: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def more_options(cls, given: Mapping[str, str]) -> tuple[type, ...]:
        """Further dataclasses whose options it takes, by the values that are given, as texts."""
        return ()


def arguments_of(cls: type, given: Mapping[str, str] | None = None) -> dict[str, Argument]:
    """The options of a class by name, in the order of its constructor.

    Args:
        cls: The class.
        given: Values that are given already, as texts.

    Raises:
        ScenarioError: The part that a value names cannot be loaded.
    """
    arguments: dict[str, Argument] = {}
    for owner in cls.__mro__:
        if "__init__" not in vars(owner):
            continue
        kinds, handed_on = _signature(vars(owner)["__init__"])
        for name, argument in kinds.items():
            arguments.setdefault(name, argument)
        if handed_on is None:
            break
        for more in handed_on:
            _add_fields(arguments, more)
    if not issubclass(cls, Configured):
        return arguments
    for more in cls.more_options(given or {}):
        _add_fields(arguments, more)
    return {name: argument for name, argument in arguments.items() if name not in cls.FIXED}


def fields_of(cls: type) -> dict[str, Argument]:
    """The options of a dataclass, whose fields are made by option()."""
    hints = typing.get_type_hints(cls)
    return {
        name: Argument(name, hints[name], default_of(field), option)
        for name, (field, option) in options_of(cls).items()
    }


def read(what: str, cls: type, words: Iterable[str]) -> dict[str, Any]:
    """The arguments of a class from NAME=VALUE words.

    Args:
        what: The class in messages, for example "agent 'square'".
        cls: The class.
        words: As --set was given them; of a repeated name the last one holds.

    Raises:
        ScenarioError: An unknown name, a value that is not allowed, or a required one is missing.
    """
    given = dict(pair("set", word) for word in words)
    known = arguments_of(cls, given)
    for name in given:
        if name not in known:
            raise ScenarioError(f"{what}: {unknown_name('option', name, known)}")
    missing = [
        argument
        for name, argument in known.items()
        if argument.default is REQUIRED and name not in given
    ]
    if missing:
        wanted = missing[0]
        expected = wanted.meaning() or f"a {wanted.type()}"
        raise ScenarioError(f"{what} needs --set {wanted.name}=VALUE: {expected}")
    try:
        return {name: known[name].read(text) for name, text in given.items()}
    except ScenarioError as error:
        raise ScenarioError(f"--set of {what}: {error}") from error


def table(rows: Mapping[str, Mapping[str, Any]], indent: str = "  ") -> str:
    """Rows of Argument.row() by name, as lines of columns."""
    cells = [("option", "type", "default", "meaning")] * bool(rows) + [
        (name, row["type"], row["default"], row["meaning"]) for name, row in rows.items()
    ]
    widths = [max(len(line[k]) for line in cells) for k in range(3)] if cells else []
    return "\n".join(
        indent
        + "  ".join(
            [*(f"{cell:{width}}" for cell, width in zip(line, widths, strict=False)), line[3]]
        ).rstrip()
        for line in cells
    )


def rows(arguments: Mapping[str, Argument]) -> dict[str, dict[str, Any]]:
    """Argument.row() of each."""
    return {name: argument.row() for name, argument in arguments.items()}


def add(parser: argparse.ArgumentParser, arguments: Iterable[Argument]) -> None:
    """Adds options of a class to a command line; they are read there."""
    for argument in arguments:
        words = f"{argument.meaning()} ({argument.usual()})".replace("%", "%%")
        added: Any = parser.add_argument(
            f"--{argument.name}",
            type=_reader(argument),
            default=argument.default,
            help=words,
            metavar=argument.option.metavar or None,
        )
        if argument.option.names or argument.option.choices:
            added.completer = functools.partial(_offer, argument)


def _reader(argument: Argument) -> Callable[[str], Any]:  # reads a value of the argument's type
    def read_text(text: str) -> Any:  # as above
        try:
            return argument.read(text)
        except ScenarioError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read_text


def _offer(argument: Argument, **_: object) -> list[str]:
    """Words that a value may be."""
    if bool in _alternatives(argument.kind)[0]:
        return ["true", "false"]
    offered = argument.option.choices or argument.option.names or ()
    return [word for word in (offered() if callable(offered) else offered) if word]


def completions(cls: type, prefix: str, words: Sequence[str]) -> list[str]:
    """Returns the completions of `--set prefix` after the words that --set was given before."""
    try:
        given = dict(pair("set", word) for word in words if "=" in word)
        known = arguments_of(cls, given)
        name, equals, _ = prefix.partition("=")
        if not equals:
            return [f"{name}=" for name in known if name not in given]
        return [f"{name}={word}" for word in _offer(known[name])]
    except (KeyError, XtdroneError):  # tab completion must not print anything
        return []


def _signature(init: Callable[..., Any]) -> tuple[dict[str, Argument], tuple[type, ...] | None]:
    """A constructor's own options, and the dataclasses of its `**more`; None without `**more`."""
    try:
        hints = typing.get_type_hints(init, include_extras=True)
    except (NameError, TypeError, AttributeError):  # an annotation that names nothing that exists
        hints = {}
    own, handed_on = {}, None
    for name, parameter in inspect.signature(init).parameters.items():
        hint = hints.get(name, Any)
        extras = hint.__metadata__ if typing.get_origin(hint) is Annotated else ()
        if parameter.kind is parameter.VAR_KEYWORD:
            handed_on = tuple(extra for extra in extras if dataclasses.is_dataclass(extra))
        elif parameter.kind is not parameter.VAR_POSITIONAL and name not in _OF_THE_FLIGHT:
            option = next((extra for extra in extras if isinstance(extra, Option)), Option(""))
            kind = hint.__origin__ if extras else hint
            if kind is Any and isinstance(parameter.default, _SCALARS):
                kind = type(parameter.default)
            own[name] = Argument(name, kind, parameter.default, option)
    return own, handed_on  # type: ignore[return-value]  # is_dataclass() is true of instances too


def _add_fields(arguments: dict[str, Argument], cls: type) -> None:
    for name, argument in fields_of(cls).items():
        arguments.setdefault(name, argument)


def _alternatives(kind: Any) -> tuple[list[Any], bool]:  # annotations
    """The types of a union without None, and whether None is one of them."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kinds = list(typing.get_args(kind))
        return [kind for kind in kinds if kind is not types.NoneType], types.NoneType in kinds
    return [kind], False


def _item(kind: Any) -> Any:  # annotations
    """The type of the entries of a sequence of scalars, or None for any other type."""
    arguments = typing.get_args(kind)
    is_sequence = typing.get_origin(kind) in (tuple, list, Sequence)
    return arguments[0] if is_sequence and arguments and arguments[0] in _SCALARS else None
