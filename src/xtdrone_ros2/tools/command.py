"""Subcommand `xtdrone ros2`."""

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from xtdrone_core import ControlError, extras
from xtdrone_core.command import Subparsers
from xtdrone_core.runs import ports
from xtdrone_core.runs.control_link import ControlClient
from xtdrone_core.scenario.options import number_type

from ..errors import Ros2Error
from ..options import MAX_DOMAIN, ros_domain

if TYPE_CHECKING:  # slow to import, and in part an optional extra
    from xtdrone_formation.topics.fleet import EventLog
    from xtdrone_formation.topics.ros import Ros

LOCAL = "127.0.0.1"
_ANSWER_S, _POLL_S = 5.0, 0.1
_ON_ANOTHER = """--names iris_0,iris_1 --address 192.168.1.21 --domain 3
                                                one on another machine, by its vehicles' names
"""
KEYBOARD = f"""the simulation runs in another terminal:
  xtdrone sim --n 9 --ros2 true

examples:
  xtdrone ros2 keyboard                         that simulation, and all of its vehicles
  xtdrone ros2 keyboard {_ON_ANOTHER}"""
_SIMULATION = """the simulation runs in another terminal:
  xtdrone sim --n 9 --ros2 true --ros2_mavros true

examples:
"""
FORMATION = f"""{_SIMULATION}\
  xtdrone ros2 formation                        beside xtdrone ros2 director
  xtdrone ros2 formation --scheme consensus --delay 0.1 --loss 0.05
  xtdrone ros2 formation {_ON_ANOTHER}"""
DIRECTOR = f"""{_SIMULATION}\
  xtdrone ros2 director                         beside ros2 formation
  xtdrone ros2 director --formations V,circle --hold 5 --no_stop
"""
AGENT = f"""{_SIMULATION}\
  xtdrone ros2 agent square
  xtdrone ros2 agent my_module:MyAgent --no_stop
"""


def register(subparsers: Subparsers) -> None:
    """`xtdrone ros2`."""
    parser = subparsers.add_parser("ros2", help="tools for ROS 2's topics, without ROS 2")
    tools = parser.add_subparsers(dest="tool", metavar="TOOL", required=True)
    _add(tools, "keyboard", "command one vehicle or all from the keyboard", KEYBOARD, _keyboard)
    from xtdrone_formation import options

    for name, add_options, text, examples, run in (
        (
            "formation",
            options.add_formation,
            "leader and followers, for the commands of /xtdrone/leader/cmd",
            FORMATION,
            _formation,
        ),
        (
            "director",
            options.add_director,
            "take off, fly formations, land, and report",
            DIRECTOR,
            _director,
        ),
        ("agent", options.add_agent, "fly an Agent, as xtdrone fly does in process", AGENT, _agent),
    ):
        tool = _add(tools, name, text, examples, run)
        add_options(tool)
        ports.add_wait(tool, "the fleet")


def _add(
    tools: Subparsers,
    name: str,
    text: str,
    examples: str,
    run: Callable[[argparse.Namespace], int | None],
) -> argparse.ArgumentParser:
    """Adds a tool with the options that all of them have."""
    tool = tools.add_parser(name, help=text, description=text, epilog=examples)
    tool.add_argument(
        "--names",
        metavar="LIST",
        default="",
        help="vehicles, separated by commas, in the order of the fleet (those of "
        "the simulation on this machine)",
    )
    tool.add_argument(
        "--domain",
        metavar="ID",
        default=ros_domain(),
        type=number_type("domain", 0, MAX_DOMAIN, whole=True),
        help="ROS_DOMAIN_ID (that of the environment, or 0)",
    )
    tool.add_argument(
        "--address",
        metavar="ADDRESS",
        default=LOCAL,
        help=f"IPv4 address of this machine's interface ({LOCAL})",
    )
    ports.add_option(tool)
    tool.set_defaults(run=run)
    return tool


def _vehicles(args: argparse.Namespace, wait: float = 0.0) -> tuple[list[str], list[str]]:
    """Returns the vehicles' names and namespaces; those of the simulation here.

    Args:
        args: Of the command line; names given there have namespaces of their own.
        wait: Time-out for a simulation [s, wall].
    """
    given = [name for name in args.names.split(",") if name]
    if given:
        return given, [f"/{name}" for name in given]
    end = time.monotonic() + wait
    while True:
        try:
            client = ControlClient(args.instance, max(wait, _ANSWER_S))
            break
        except ControlError as error:
            if time.monotonic() >= end:
                raise Ros2Error(
                    "no simulation on this machine: start one with xtdrone sim "
                    "--ros2 true, or give --names of one on another machine"
                ) from error
        time.sleep(_POLL_S)
    try:
        status = client.request("status")
        return status["vehicles"], status["namespaces"]
    finally:
        client.close()


def _missing(error: ImportError) -> Ros2Error:
    return Ros2Error(extras.lacking("ROS 2", error, "ros2"))


def _keyboard(args: argparse.Namespace) -> None:
    from xtdrone_control import terminal

    terminal.require("xtdrone ros2 keyboard")
    names, _ = _vehicles(args)
    try:
        from .keyboard import fly
    except ImportError as error:
        raise _missing(error) from error
    fly(names, args.domain, args.address)


def _formation(args: argparse.Namespace) -> int:
    from xtdrone_formation.topics import formation

    return _run(args, lambda ros, log: formation.run(ros, args, log), echo=False)


def _director(args: argparse.Namespace) -> int:
    from xtdrone_formation.topics import director

    return _run(args, lambda ros, log: _fly(director.run, director.finish, ros, args, log))


def _agent(args: argparse.Namespace) -> int:
    from xtdrone_formation.topics import agent
    from xtdrone_formation.topics.fleet import end_simulation

    return _run(args, lambda ros, log: _fly(agent.run, end_simulation, ros, args, log))


def _fly(
    fly: Callable[["Ros", argparse.Namespace, "EventLog"], tuple[int, bool]],
    finish: Callable[[ControlClient], object],
    ros: "Ros",
    args: argparse.Namespace,
    log: "EventLog",
) -> int:
    """Flies, and then finishes the simulation, if it is on this machine."""
    status, done = fly(ros, args, log)
    if done and not args.no_stop and log.client is not None:
        finish(log.client)
    return status


def _run(
    args: argparse.Namespace, run: Callable[["Ros", "EventLog"], int | None], echo: bool = True
) -> int:
    """Calls run(ros, log) with a node, and an EventLog of the simulation on this machine."""
    from xtdrone_formation.topics.fleet import EventLog

    names, namespaces = _vehicles(args, args.wait)
    try:
        from .client import Ros2
    except ImportError as error:
        raise _missing(error) from error
    ros = Ros2(f"/{args.tool}", names, args.domain, args.address, namespaces)
    try:
        return run(ros, EventLog(None if args.names else args.instance, echo)) or 0
    finally:
        ros.close()
