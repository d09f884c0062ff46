"""`xtdrone sim`: a simulation that waits for clients."""

import argparse
import contextlib
import sys

from xtdrone_core.command import Subparsers
from xtdrone_core.runs import ports
from xtdrone_core.runs.control_link import ControlServer
from xtdrone_core.scenario import scenario_options
from xtdrone_core.scenario.options import number_type, pair
from xtdrone_core.stations import wanted_stations

from . import running

EXAMPLES = """examples:
  xtdrone sim                                  one iris; QGroundControl finds it on UDP 14550
  xtdrone sim --n 9 --speed 0                  nine, as fast as possible
  xtdrone sim --vehicles 'iris@0,0; iris@3,0,0,1.57' --world outdoor --gps m8n
"""


def register_sim(subparsers: Subparsers) -> None:
    """Adds `xtdrone sim`."""
    parser = subparsers.add_parser(
        "sim", help="simulate a fleet for MAVLink and ROS clients", epilog=EXAMPLES
    )
    scenario_options.add(parser)
    parser.add_argument(
        "--duration",
        type=number_type("duration", 0.004, 1e9, unit="s"),
        metavar="SECONDS",
        help="end after this simulated time (never)",
    )
    parser.add_argument(
        "--default",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of a scenario option, where neither it nor --scenario's file is "
        "given; for launch files",
    )
    parser.add_argument(
        "--await_bridge",
        action="store_true",
        help="with --speed 0: begin when a bridge has connected",
    )
    parser.add_argument(
        "--no_run_folder",
        action="store_true",
        help="write nothing; --log none leaves out the flight logs alone",
    )
    parser.set_defaults(run=_sim)


def _sim(args: argparse.Namespace) -> int:
    with running.interruptible_imports():
        from ..simulation import Simulation
        from ..warm_up import ensure_warm

    scenario = scenario_options.scenario_of(
        args, **dict(pair("default", word) for word in args.default)
    )
    until = None if args.duration is None else round(args.duration * 1e6)
    # Opened before the kernels are compiled: a client that connects knows that there is something
    # to wait for.
    server = ControlServer(ports.Ports(scenario.instance).control)
    ensure_warm(scenario)
    wanted = not args.no_run_folder
    with (
        contextlib.closing(server),
        running.new_run_folder(scenario, wanted) as folder,
        running.Signals() as signals,
    ):
        simulation = Simulation(scenario, folder, control=server)
        running.open_stations(simulation)
        for line in running.not_flyable(simulation):
            print(f"warning: {line}", file=sys.stderr, flush=True)
        print(
            f"{scenario.n} vehicle{'s' * (scenario.n > 1)} in '{scenario.world}', engine "
            f"{scenario.engine}, autopilot {scenario.flown_by}; ground stations: UDP "
            f"{ports.Ports(scenario.instance).ground_station}; run folder: {folder}",
            flush=True,
        )
        awaited = args.await_bridge or any(each.AWAITED for each in wanted_stations(scenario))
        running.run(simulation, signals, until, awaited and scenario.speed == 0.0)
        stopped = signals.came
        signals.conclude()
        status = running.print_closing_lines(simulation)
        if folder is not None and not stopped:
            running.plot_flight(folder)
        return status
