"""Options shared by the command and the nodes: shape of the formations, communication."""

import argparse
import math

from .formations import Shape
from .network import TOPOLOGIES, Radio


def add_shape(parser: argparse.ArgumentParser) -> None:
    """Options of formations.Shape."""
    add = parser.add_argument
    add("--spacing", type=float, default=0.0,
        help="least distance between two vehicles [m] (0: the formation's default)")
    add("--scale", type=float, default=1.0, help="factor on all offsets (1)")
    add("--rotation", type=float, default=0.0, help="about the up axis [degrees] (0)")


def shape_of(args: argparse.Namespace) -> Shape:
    """The Shape from the options of add_shape()."""
    return Shape(args.spacing or None, args.scale, args.rotation)


def add_scheme(parser: argparse.ArgumentParser) -> None:
    """Options of schemes.scheme() and network.Radio."""
    add = parser.add_argument
    add("--scheme", default="centralised",
        help="centralised, consensus, consensus_acceleration, or module:Class")
    add("--topology", default="", metavar="NAME",
        help=f"communication graph: {', '.join(TOPOLOGIES)} (the scheme's)")
    add("--delay", type=float, default=0.0, help="communication delay [s]")
    add("--loss", type=float, default=0.0, help="packet loss, 0 to 1")
    add("--range", type=float, default=math.inf, help="communication range [m]")
    add("--leader_lost", type=_times, default=(), metavar="FROM,TO",
        help="outage of the leader's packets, simulated time [s]")
    add("--transition_speed", type=float, default=3.0,
        help="largest speed of a transition [m/s] (3)")


def radio_of(args: argparse.Namespace) -> Radio:
    """The Radio from the options of add_scheme()."""
    return Radio(args.delay, args.loss, args.range, args.leader_lost)


def _times(text):
    try:
        return tuple(float(word) for word in text.split(",") if word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not FROM,TO in seconds") from None
