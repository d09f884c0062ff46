"""Options shared by the command and the nodes: shape of the formations, communication."""

import argparse
import math

from xtdrone_core.options import number_type

from .formations import LARGEST, Shape
from .network import TOPOLOGIES, Radio


def add_shape(parser: argparse.ArgumentParser) -> None:
    """Options of formations.Shape."""
    add = parser.add_argument
    add("--spacing", type=number_type("spacing", 0.0, LARGEST, unit="m"), default=0.0,
        help="least distance between two vehicles [m] (0: the formation's default)")
    add("--scale", type=number_type("scale", 0.0, LARGEST), default=1.0,
        help="factor on all offsets (1)")
    add("--rotation", type=number_type("rotation", -3600.0, 3600.0, unit="degrees"), default=0.0,
        help="about the up axis [degrees] (0)")


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
    add("--delay", type=number_type("delay", 0.0, 60.0, unit="s"), default=0.0,
        help="communication delay [s]")
    add("--loss", type=number_type("loss", 0.0, 1.0), default=0.0,
        help="packet loss, 0 to 1")
    add("--range", type=_range, default=math.inf, metavar="M",
        help="communication range [m]; inf = no limit (inf)")
    add("--leader_lost", type=_times, default=(), metavar="FROM,TO",
        help="outage of the leader's packets, simulated time [s]")
    add("--transition_speed", type=number_type("transition_speed", 0.01, 100.0, unit="m/s"),
        default=3.0,
        help="largest speed of a transition [m/s] (3)")


def radio_of(args: argparse.Namespace) -> Radio:
    """The Radio from the options of add_scheme()."""
    return Radio(args.delay, args.loss, args.range, args.leader_lost)


def _range(text):
    return math.inf if text == "inf" else number_type("range", 0.0, unit="m, or inf")(text)


def _times(text):
    try:
        return tuple(float(word) for word in text.split(",") if word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not FROM,TO in seconds") from None
