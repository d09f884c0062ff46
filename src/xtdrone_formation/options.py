"""Options that the command and the nodes share: shape of the formations, communication."""

import argparse
import math

from .formations import Shape
from .network import TOPOLOGIES, Radio


def add_shape(parser) -> None:
    """Options of formations.Shape."""
    add = parser.add_argument
    add("--spacing", type=float, default=0.0,
        help="least distance between two vehicles [m] (0: the formation's own)")
    add("--scale", type=float, default=1.0, help="factor on all offsets (1)")
    add("--rotation", type=float, default=0.0, help="about the up axis [degrees] (0)")


def shape_of(args) -> Shape:
    """The Shape that they say."""
    return Shape(args.spacing or None, args.scale, args.rotation)


def add_scheme(parser) -> None:
    """Options of schemes.scheme() and network.Radio."""
    add = parser.add_argument
    add("--scheme", default="centralised",
        help="centralised, consensus, consensus_acceleration, or module:Class")
    add("--topology", default="", metavar="NAME",
        help=f"who hears whom: {', '.join(TOPOLOGIES)} (as the scheme says)")
    add("--delay", type=float, default=0.0, help="of the communication [s]")
    add("--loss", type=float, default=0.0, help="part of the packets that is lost")
    add("--range", type=float, default=math.inf, help="of the communication [m]")
    add("--leader_lost", type=_times, default=(), metavar="FROM,TO",
        help="simulated seconds between which nobody hears the leader")
    add("--transition_speed", type=float, default=3.0,
        help="largest speed between formations [m/s] (3)")


def radio_of(args) -> Radio:
    """The Radio that they say."""
    return Radio(args.delay, args.loss, args.range, args.leader_lost)


def _times(text):
    try:
        return tuple(float(word) for word in text.split(",") if word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not FROM,TO in seconds") from None
