"""Subcommand `xtdrone web`: the start page."""

import argparse
import ipaddress
import webbrowser
from pathlib import Path

from xtdrone_core.command import Subparsers
from xtdrone_core.errors import shown
from xtdrone_core.runs import ports, run_folder
from xtdrone_core.scenario.options import number_type, truth_type

from ..errors import WebError

EXAMPLES = """examples:
  xtdrone web                                  prints the link of a page; open it
  xtdrone web scenarios/my_flight.yaml         begins with that scenario
  xtdrone web --open true                      opens it in the browser as well
  xtdrone web --scenarios ~/flights            keeps scenarios and own models there
  xtdrone web --address 0.0.0.0                for other machines in a network that you trust
"""


def register(subparsers: Subparsers) -> None:
    """Adds `xtdrone web`."""
    parser = subparsers.add_parser(
        "web", help="serve a page that starts simulations and shows runs", epilog=EXAMPLES
    )
    parser.add_argument(
        "scenario",
        nargs="?",
        metavar="SCENARIO",
        help="YAML or saved launch file that the form begins with (one iris)",
    )
    parser.add_argument(
        "--address",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="IPv4 address on which it is served; 0.0.0.0 is every network of "
        "this machine (127.0.0.1)",
    )
    parser.add_argument(
        "--port",
        type=number_type("port", 1024, 65535, whole=True),
        metavar="PORT",
        help=f"TCP port ({ports.Ports(0).start} + {ports.SHIFT} per instance)",
    )
    parser.add_argument(
        "--scenarios",
        metavar="FOLDER",
        default="",
        help="of saved scenarios and own models (scenarios/ beside runs/)",
    )
    parser.add_argument(
        "--open",
        type=truth_type("open"),
        nargs="?",
        const=True,
        default=False,
        metavar="true|false",
        help="open it in the browser (false)",
    )
    ports.add_option(parser)
    parser.set_defaults(run=_web)


def _web(args: argparse.Namespace) -> None:
    from . import launch_file, shelf
    from .server import serve

    try:
        ipaddress.IPv4Address(args.address)
    except ValueError as error:
        raise WebError(
            f"address '{shown(args.address)}' is not an IPv4 address: write it as 192.168.1.20"
        ) from error
    folder = (
        Path(args.scenarios).expanduser().absolute()
        if args.scenarios
        else (run_folder.runs_root().parent / "scenarios")
    )
    for kept in (run_folder.runs_root(), folder):
        run_folder.require_writable(kept)
    first = None
    if args.scenario:
        path = Path(args.scenario).expanduser()
        first = launch_file.load(path) if path.suffix == ".launch" else shelf.load_yaml(path)
    serve(
        args.address,
        args.port,
        args.instance,
        folder,
        first,
        webbrowser.open if args.open else None,
    )
