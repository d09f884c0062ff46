"""Options shared by the command and the nodes: shape of the formations, communication."""

import argparse

from xtdrone_core.scenario.arguments import add, arguments_of, fields_of
from xtdrone_core.scenario.options import options_of

from .agents import FormationAgent
from .formations import Shape
from .network import Radio

_OF_SCHEMES = "scheme", "topology", "transition_speed"


def add_formations(parser: argparse.ArgumentParser) -> None:
    """The formations to fly."""
    add(parser, [arguments_of(FormationAgent)["formations"]])


def add_shape(parser: argparse.ArgumentParser) -> None:
    """Options of formations.Shape."""
    add(parser, fields_of(Shape).values())


def shape_of(args: argparse.Namespace) -> Shape:
    """The Shape from the options of add_shape()."""
    return Shape(**{name: getattr(args, name) for name in options_of(Shape)})


def add_scheme(parser: argparse.ArgumentParser) -> None:
    """Options of schemes.scheme() and network.Radio."""
    known = arguments_of(FormationAgent)
    add(parser, [known[name] for name in (*_OF_SCHEMES, *options_of(Radio))])


def radio_of(args: argparse.Namespace) -> Radio:
    """The Radio from the options of add_scheme()."""
    return Radio(**{name: getattr(args, name) for name in options_of(Radio)})
