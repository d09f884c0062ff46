"""`xtdrone fly`: an Agent flies the fleet inside the lockstep."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xtdrone_core import Scenario, ScenarioError, XtdroneError, registry
from xtdrone_core.command import Subparsers
from xtdrone_core.contracts import Agent, Observer, Reporting
from xtdrone_core.errors import CRASHED, INTERRUPTED
from xtdrone_core.runs import ports
from xtdrone_core.runs.control_link import TICK_US, ControlServer
from xtdrone_core.scenario import arguments, scenario_options
from xtdrone_core.stations import wanted_stations

from . import running

if TYPE_CHECKING:  # slow to import
    from xtdrone_core import FleetState, SensorBatch

    from ..simulation import Simulation

EXAMPLES = """examples:
  xtdrone fly square                           one iris, a 4 m square
  xtdrone fly formation --n 9                  leader and eight followers
  xtdrone fly formation --n 9 --set formations=cube,sphere
  xtdrone fly mission --mission survey         a plan: the name of one, or a file
  xtdrone fly race --track eight               three laps through gates, timed
  xtdrone fly my_module:MyAgent --n 3          a user-defined Agent
"""
_MAX_LISTED = 3  # crashes, or vehicles with a reason, in an error message


def register_fly(subparsers: Subparsers) -> None:
    """Adds `xtdrone fly`."""
    parser = subparsers.add_parser(
        "fly", help="fly an Agent in process, without ROS", epilog=EXAMPLES, add_help=False
    )
    parser.add_argument(
        "-h",
        "--help",
        action=_Help,
        nargs=0,
        default=argparse.SUPPRESS,
        help="this text; behind an Agent's name, with its options for --set",
    )
    agent = parser.add_argument(
        "agent", help=f"{', '.join(registry.AGENTS.names())}, module:Class or FILE.py:Class"
    )
    agent.completer = lambda **_: registry.AGENTS.names()
    settings = parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="option of the Agent, also as --NAME VALUE; see xtdrone fly AGENT --help",
    )
    settings.completer = _complete_settings
    parser.add_argument(
        "--links", action="store_true", help="open the MAVLink ports, for a ground station to watch"
    )
    scenario_options.add(parser)
    parser.set_defaults(run=_fly, adapt=_agent_options_as_settings)


class _Help(argparse.Action):
    """--help, with the options of the Agent that stands before it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if namespace.agent:
            agent = registry.AGENTS.load(namespace.agent)
            known = arguments.arguments_of(
                agent, dict(word.split("=", 1) for word in namespace.set if "=" in word)
            )
            parser.epilog = (
                f"--set of agent '{namespace.agent}':\n"
                f"{arguments.table(arguments.rows(known)) or '  none'}\n\n"
                f"{parser.epilog}"
            )
        parser.print_help()
        parser.exit()


def _agent_options_as_settings(args: argparse.Namespace, words: Sequence[str]) -> list[str]:
    """Rewrites --NAME VALUE and --NAME=VALUE of the Agent's options as --set NAME=VALUE."""
    known = arguments.arguments_of(registry.AGENTS.load(args.agent))
    out: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, text = word.removeprefix("--").partition("=")
        value: str | None = None
        if word.startswith("--") and name in known:
            value = text if equals else next(rest, None)
        out += [word] if value is None else ["--set", f"{name}={value}"]
    return out


def _complete_settings(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """Completes the argument of --set."""
    try:
        return arguments.completions(
            registry.AGENTS.load(parsed_args.agent), prefix, parsed_args.set or []
        )
    except (XtdroneError, TypeError):
        return []


def _fly(args: argparse.Namespace) -> int:
    scenario = scenario_options.scenario_of(args, speed=0.0, name=args.agent.split(":")[-1])
    with running.ClosingPlots() as plots:
        with running.interruptible_imports():
            from ..warm_up import ensure_warm

            agent_class = registry.AGENTS.load(args.agent)
        settings = arguments.read(f"agent '{args.agent}'", agent_class, args.set)
        ensure_warm(scenario, args.links)
        with running.new_run_folder(scenario) as folder, running.Signals() as signals:
            simulation = _flight(args, scenario, (agent_class, settings), folder, signals)
        agent = simulation.agent
        if folder is not None and isinstance(agent, Reporting):
            agent.report(folder)
        status = running.print_closing_lines(simulation)
        if folder is not None:
            plots.draw(folder)
    stopped = agent is not None and not agent.done  # its closing lines tell that
    return INTERRUPTED if stopped else status


def _flight(
    args: argparse.Namespace,
    scenario: Scenario,
    agent: tuple[type, Mapping[str, Any]],
    folder: Path | None,
    signals: running.Signals,
) -> "Simulation":
    """Flies an Agent, given as its class and its options; returns the closed simulation."""
    from ..simulation import Simulation

    stations = wanted_stations(scenario)
    commanded = any(station.COMMANDS for station in stations)
    server = ControlServer(ports.Ports(scenario.instance).control) if commanded else None
    simulation = Simulation(scenario, folder, control=server, links=args.links or commanded)
    running.open_stations(simulation)
    bar = _ProgressBar(args.agent, simulation)
    simulation.observers.append(bar)
    try:
        reasons = [
            *running.not_flyable(simulation),
            *_not_hovering(simulation, args.agent, agent[0]),
        ]
        if reasons:
            raise ScenarioError("; ".join(reasons))
        simulation.agent = _new_agent(*agent, simulation, bar)
    except BaseException:
        simulation.close()
        raise
    try:
        awaited = any(station.AWAITED for station in stations)
        running.run(simulation, signals, None, awaited and scenario.speed == 0.0)
    except XtdroneError as error:
        failed = type(error)("; ".join([str(error), *_circumstances(simulation, str(error))]))
        failed.status = CRASHED if simulation.crashes else error.status
        raise failed from error
    return simulation


def _not_hovering(simulation: "Simulation", name: str, agent_class: type) -> list[str]:
    """Returns a line for each vehicle that cannot hover, if the Agent takes off and hovers."""
    from xtdrone_core.flight_agent import FlightAgent
    from xtdrone_dynamics.abilities.vehicle_type import MULTICOPTER, vehicle_types

    if not issubclass(agent_class, FlightAgent):
        return []
    return [
        f"{spec.name} cannot hover, as all vehicles of agent '{name}' must: fly 'mission', or "
        "command it over ROS"
        for spec, kind in zip(
            simulation.scenario.vehicles, vehicle_types(simulation.fleet), strict=True
        )
        if kind != MULTICOPTER
    ]


def _new_agent(
    agent_class: type, settings: Mapping[str, Any], simulation: "Simulation", bar: "_ProgressBar"
) -> Agent:
    """Returns a new Agent, whose events go to the run folder and to the progress bar.

    Raises:
        ScenarioError: It does not accept the given arguments.
    """

    def on_event(t_us: int, name: str, **values: object) -> None:
        simulation.event(t_us, name, **values)
        bar.note(name, values)

    try:
        agent: Agent = agent_class(simulation.scenario.n, on_event=on_event, **settings)
    except TypeError as error:
        raise ScenarioError(
            f"agent '{agent_class.__name__}' does not accept that: {error}"
        ) from error
    return agent


def _circumstances(simulation: "Simulation", error: str) -> list[str]:
    """Crashes, the last warning, why vehicles are not ready to arm, and the path of the logs.

    Empty for a flight that has not begun.
    """
    if simulation.t_us < TICK_US:
        return []
    warning = simulation.last_warning
    warnings = (
        []
        if warning is None or warning.split(": ", 1)[1] in error
        else [f"last warning: {warning}"]
    )
    not_ready = [
        f"{spec.name}: {state['not_ready']}"
        for spec, state in zip(simulation.scenario.vehicles, simulation.autopilot.health())
        if state["not_ready"]
    ]
    logs = [f"run folder: {simulation.folder}"]
    crashes = [
        f"{crash} at {crash.t_us * 1e-6:.1f} s" for crash in simulation.crashes[:_MAX_LISTED]
    ]
    return crashes + warnings + not_ready[:_MAX_LISTED] + logs


class _ProgressBar(Observer):
    """Shows simulated time, real-time factor and last event of a flight of unknown length."""

    period_us = 1_000_000

    def __init__(self, label: str, simulation: "Simulation") -> None:
        from tqdm import tqdm

        # The delay leaves the screen alone until the flight moves: errors before it are one line.
        self._bar = tqdm(
            desc=label,
            unit=" s",
            file=sys.stderr,
            mininterval=0.2,
            delay=1e-3,
            disable=None,  # no bar in a file or pipe
            bar_format="{desc}: {n:.0f} s simulated, {elapsed} elapsed{postfix}",
        )
        self._event = "on the ground"
        self._simulation = simulation

    def note(self, name: str, values: Mapping[str, Any]) -> None:
        """Shows an event from now on."""
        which = values.get("formation", values.get("index", ""))
        self._event = f"{name} {which}".rstrip()

    def on_step(self, t_us: int, state: "FleetState", sensors: "SensorBatch") -> None:
        """Updates the bar once per simulated second."""
        self._bar.set_postfix_str(
            f"{self._simulation.real_time_factor():.1f} x real time, {self._event}", refresh=False
        )
        self._bar.update(1)

    def close(self) -> None:
        """Ends the bar."""
        self._bar.close()
