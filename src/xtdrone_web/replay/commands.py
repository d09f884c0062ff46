"""Subcommand `xtdrone replay`: recorded flights on the page."""

import argparse
from typing import Any

from xtdrone_core import XtdroneError, resources
from xtdrone_core.command import Subparsers
from xtdrone_core.runs import ports, run_folder
from xtdrone_core.scenario.options import number_type

from .settings import ALIGNMENTS, FASTEST, SLOWEST

EXAMPLES = """examples:
  xtdrone replay                               the newest run; prints the link of a page
  xtdrone replay formation-2 --from 12 --speed 4
  xtdrone replay run run-2 --align takeoff     the second one as translucent vehicles
  xtdrone replay PX4.ulg --vehicle iris        a log of PX4, also of the real one
  xtdrone replay runs/latest/ulog/iris_0/log001.ulg runs/latest

On the page: Space plays and pauses, arrows jump, the bar is dragged, ? lists the keys.
'xtdrone view' shows runs in a window of its own and writes films.
"""


def register(subparsers: Subparsers) -> None:
    """`xtdrone replay`."""
    parser = subparsers.add_parser(
        "replay", help="replay a run or log in the browser, compare two", epilog=EXAMPLES
    )
    add_source(parser)
    other: Any = parser.add_argument(
        "other", metavar="SOURCE2", nargs="?", help="another one, to compare with"
    )
    other.completer = _complete
    parser.add_argument(
        "--align",
        choices=list(ALIGNMENTS),
        default="start",
        help="; ".join(f"{name}: {what}" for name, what in ALIGNMENTS.items()) + " (start)",
    )
    add_file_options(parser)
    parser.add_argument(
        "--from",
        dest="begin",
        type=number_type("time", 0.0, 1e9, unit="s"),
        metavar="SECONDS",
        help="first time that is shown (the start)",
    )
    parser.add_argument(
        "--speed",
        type=number_type("speed", SLOWEST, FASTEST),
        default=1.0,
        metavar="FACTOR",
        help="simulated seconds per second (1)",
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="IPv4 address on which the page is served; 0.0.0.0 is every network "
        "of this machine (127.0.0.1)",
    )
    ports.add_option(parser)
    parser.set_defaults(run=_replay)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Adds the argument SOURCE, which sources.read() takes, with completion."""
    source: Any = parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?",
        default=run_folder.latest(0),
        help=f"name of a run in runs/, path of its folder, {run_folder.latest(0)} (the default), "
        "or a file: ULog, bag of ROS 1 or ROS 2, MCAP",
    )
    source.completer = _complete


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Adds --vehicle and --world, of files that do not name theirs."""
    vehicle: Any = parser.add_argument(
        "--vehicle",
        metavar="TYPE",
        default="iris",
        help="of a file that does not name its vehicle (iris)",
    )
    vehicle.completer = lambda **_: resources.vehicle_names()
    world: Any = parser.add_argument(
        "--world",
        metavar="NAME",
        default="empty",
        help="of a file that does not name its world (empty)",
    )
    world.completer = lambda **_: resources.world_names()


def _complete(prefix: str = "", **_: object) -> list[str]:
    """Returns names of runs, and files."""
    from argcomplete.completers import FilesCompleter

    return [
        run_folder.latest(0),
        *run_folder.names(),
        *FilesCompleter(("ulg", "bag", "mcap", "db3"))(prefix),
    ]


def _replay(args: argparse.Namespace) -> int:
    from xtdrone_core.scenario.options import check_address

    from . import sources
    from .playback import Playback
    from .server import serve
    from .station import ReplayStation

    check_address("address", args.address)
    first = sources.read(args.source, args.vehicle, args.world)
    second = None if args.other is None else sources.read(args.other, args.vehicle, args.world)
    playback = Playback(first, second, args.align)
    if args.begin is not None and not playback.start_s <= args.begin <= playback.end_s:
        raise XtdroneError(
            f"at {args.begin:g} s there is nothing: the recording has "
            f"{playback.start_s:g} s to {playback.end_s:g} s"
        )
    return serve(ReplayStation(playback, args.begin, args.speed), args.address, args.instance)
