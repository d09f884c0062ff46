"""The options of a scenario on a command line; declared in scenario.py, nowhere else."""

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import XtdroneError
from .options import Option, default_of
from .scenario import Scenario
from .vehicles import FLEET, fleet, parse_vehicles


def declared() -> dict[str, tuple[type, Option, str]]:
    """Type, Option and default, as a description, of each option of a scenario, by name."""
    table: dict[str, tuple[type, Option, str]] = {
        name: (int if name == "n" else str, option, option.unset) for name, option in FLEET.items()
    }
    for name, (field, option) in Scenario.options().items():
        kind: Any = field.type
        default = "0" if name == "instance" else _word(default_of(field))
        table[name] = kind, option, default or option.unset
    return table


def meaning(option: Option) -> str:
    """The help text of an option with its range and unit."""
    limits = f", {option.minimum:g} to {option.maximum:g}" if option.maximum < float("inf") else ""
    return option.help + limits + (f" [{option.unit}]" if option.unit else "")


def add(parser: argparse.ArgumentParser) -> None:
    """Adds the options to an argparse parser; their values remain strings until scenario_of()."""
    group = parser.add_argument_group("scenario")
    group.add_argument(
        "--scenario", metavar="FILE", help="YAML file to begin with; the other options change it"
    )
    for name, (kind, option, default) in declared().items():
        flag: dict[str, Any] = {"nargs": "?", "const": "true"} if kind is bool else {}
        action: Any = group.add_argument(
            f"--{name}",
            help=f"{meaning(option)} ({default})".replace("%", "%%"),
            metavar=option.metavar or ("true|false" if kind is bool else None),
            **flag,
        )
        offered = option.choices or option.names
        if offered:
            action.completer = _completer(offered)


def scenario_of(args: argparse.Namespace, **defaults: Any) -> Scenario:  # each of its option's type
    """The scenario of parsed options.

    Args:
        args: The namespace of a parser that add() has extended. An option that
            is empty counts as not given, as launch files pass them.
        **defaults: Values instead of the scenario's own defaults, where neither the command line
            nor the file of --scenario gives one.

    Raises:
        ScenarioError: Invalid options.
    """
    given = {
        name: value
        for name, value in vars(args).items()
        if name in declared() and value not in (None, "")
    }
    base = (
        Scenario.load(args.scenario, defaults)
        if args.scenario
        else Scenario.from_dict({}, defaults)
    )
    values = {name: getattr(base, name) for name in ("vehicles", *Scenario.options())}
    vehicle, n = given.pop("vehicle", None), given.pop("n", None)
    if "vehicles" in given:
        given["vehicles"] = parse_vehicles(given["vehicles"])
    elif vehicle is not None or n is not None:
        first = values["vehicles"][0].type
        given["vehicles"] = fleet(vehicle or first, len(values["vehicles"]) if n is None else n)
    return Scenario(**{**values, **given})


def _word(value: object) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else (f"{value:g}" if isinstance(value, float) else str(value))
    )


def _completer(offered: Iterable[str] | Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    def complete(**_: object) -> list[str]:
        try:
            return list(offered() if callable(offered) else offered)
        except XtdroneError:  # tab completion must not print anything
            return []

    return complete
