"""Options shared by the commands and the nodes: shape of the formations, communication."""

import argparse

from xtdrone_core import registry
from xtdrone_core.scenario.arguments import add, fields_of
from xtdrone_core.scenario.options import options_of

from .declarations import (
    FORMATIONS,
    PLACES,
    SCHEME,
    SURVEY_TIME,
    TOPOLOGY,
    TRANSITION_SPEED,
    Radio,
    Shape,
)


def add_formations(parser: argparse.ArgumentParser) -> None:
    """Adds the formations to fly."""
    add(parser, [FORMATIONS])


def add_shape(parser: argparse.ArgumentParser) -> None:
    """Adds the options of Shape."""
    add(parser, fields_of(Shape).values())


def shape_of(args: argparse.Namespace) -> Shape:
    """Returns the Shape from the options of add_shape()."""
    return Shape(**{name: getattr(args, name) for name in options_of(Shape)})


def add_scheme(parser: argparse.ArgumentParser) -> None:
    """Adds the options of schemes.scheme() and Radio."""
    add(parser, [SCHEME, TOPOLOGY, TRANSITION_SPEED, *fields_of(Radio).values()])


def radio_of(args: argparse.Namespace) -> Radio:
    """Returns the Radio from the options of add_scheme()."""
    return Radio(**{name: getattr(args, name) for name in options_of(Radio)})


def add_survey(parser: argparse.ArgumentParser) -> None:
    """Adds the options of Survey."""
    add(parser, [PLACES, SURVEY_TIME])


def add_formation(parser: argparse.ArgumentParser) -> None:
    """Adds the options of topics.formation."""
    add_shape(parser)
    add_scheme(parser)
    add_survey(parser)


def add_director(parser: argparse.ArgumentParser) -> None:
    """Adds the options of topics.director; shape and survey must be as the formation's."""
    add_formations(parser)
    parser.add_argument(
        "--hold", type=float, default=8.0, help="time to hold each after it has settled [s] (8)"
    )
    add_shape(parser)
    add_survey(parser)
    _add_no_stop(parser)


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Adds the options of topics.agent."""
    name = parser.add_argument(
        "agent", help=f"{', '.join(registry.AGENTS.names())}, module:Class or FILE.py:Class"
    )
    name.completer = lambda **_: registry.AGENTS.names()  # type: ignore[attr-defined]
    _add_no_stop(parser)


def _add_no_stop(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no_stop", action="store_true", help="leave the simulation running after the landing"
    )
