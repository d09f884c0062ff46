"""Subcommands of the simulation: sim, fly, control, warmup."""

import argparse
import contextlib
import json
import logging
import signal
import sys
from pathlib import Path
from typing import Any

from xtdrone_core import ScenarioError, XtdroneError, registry, resources
from xtdrone_core.contracts import Observer, Reporting, goals_missed
from xtdrone_core.errors import CRASHED, MISSED
from xtdrone_core.runs import ports, run_folder
from xtdrone_core.runs.control_link import TICK_US, ControlServer
from xtdrone_core.scenario import arguments, scenario_options
from xtdrone_core.scenario.options import number, number_type, pair

SIM_EXAMPLES = """examples:
  xtdrone sim                                  one iris; QGroundControl finds it on UDP 14550
  xtdrone sim --n 9 --speed 0                  nine, as fast as possible
  xtdrone sim --vehicles 'iris@0,0; iris@3,0,0,1.57' --world outdoor --gps m8n
"""
FLY_EXAMPLES = """examples:
  xtdrone fly square                           one iris, a 4 m square
  xtdrone fly formation --n 9                  leader and eight followers
  xtdrone fly formation --n 9 --set formations=cube,sphere
  xtdrone fly mission --mission survey         a plan: the name of one, or a file
  xtdrone fly race --track eight               three laps through gates, timed
  xtdrone fly my_module:MyAgent --n 3          a user-defined Agent
"""
VEHICLE_EXAMPLES = """examples:
  xtdrone vehicle show typhoon_h480 --out typhoon_h480.png
  xtdrone vehicle check ~/PX4-Autopilot/Tools/simulation/gazebo-classic/sitl_gazebo-classic/models
  xtdrone vehicle check my_iris/model.sdf --hover 20
  xtdrone vehicle presets                      presets of sensors, by kind
  xtdrone vehicle presets bmi088               its values, units and data sheet
"""
_SHOWN = 3  # largest number of vehicles with a reason in an error message
CONTROL_EXAMPLES = """examples:
  xtdrone control status --json                for programs
  xtdrone control pause
  xtdrone control step --n 5                   five steps of 4 ms, then pause
  xtdrone control speed 2
  xtdrone control disturb rotor iris_0 2 0.5   rotor 2 gives half its thrust from now on
  xtdrone control reset iris_2                 back to its start, while the others fly on
  xtdrone control save before                  into the run folder; 'load before' goes back there
"""


def register_sim(subparsers: Any) -> None:
    """`xtdrone sim`: a simulation that waits for clients."""
    parser = subparsers.add_parser(
        "sim", help="simulate a fleet for MAVLink and ROS clients", epilog=SIM_EXAMPLES
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


def register_fly(subparsers: Any) -> None:
    """`xtdrone fly`: an Agent flies the fleet inside the lockstep."""
    parser = subparsers.add_parser(
        "fly", help="fly an Agent in process, without ROS", epilog=FLY_EXAMPLES, add_help=False
    )
    parser.add_argument(
        "-h",
        "--help",
        action=_Help,
        help="this text; behind an Agent's name, with its options for --set",
    )
    agent = parser.add_argument(
        "agent", help=f"{', '.join(registry.AGENTS.names())}, or module:Class"
    )
    agent.completer = lambda **_: registry.AGENTS.names()
    settings = parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="option of the Agent, also as --NAME VALUE; see xtdrone fly AGENT --help",
    )
    settings.completer = _settings
    parser.add_argument(
        "--links", action="store_true", help="open the MAVLink ports, for a ground station to watch"
    )
    scenario_options.add(parser)
    parser.set_defaults(run=_fly, adapt=_adapt)


class _Help(argparse._HelpAction):
    """--help, with the options of the Agent that stands before it."""

    def __call__(self, parser, namespace, values, option_string=None):
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
        super().__call__(parser, namespace, values, option_string)


def _adapt(args, words):
    """--NAME VALUE and --NAME=VALUE of the Agent's options as --set."""
    known = arguments.arguments_of(registry.AGENTS.load(args.agent))
    out, rest = [], iter(words)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and name in known:
            value = value if equals else next(rest, None)
        else:
            value = None
        out += [word] if value is None else ["--set", f"{name}={value}"]
    return out


def _settings(prefix, parsed_args, **_):
    """Completion of --set."""
    try:
        return arguments.completions(
            registry.AGENTS.load(parsed_args.agent), prefix, parsed_args.set or []
        )
    except (XtdroneError, TypeError):
        return []


def register_control(subparsers: Any) -> None:
    """`xtdrone control`: control a running simulation."""
    parser = subparsers.add_parser(
        "control", help="pause, step or speed up a running simulation", epilog=CONTROL_EXAMPLES
    )
    parser.add_argument(
        "action",
        choices=[
            "status",
            "pause",
            "resume",
            "step",
            "speed",
            "disturb",
            "reset",
            "save",
            "load",
            "stop",
        ],
    )
    parser.add_argument(
        "value",
        nargs="*",
        help="speed: factor; disturb: payload, drain, rotor or "
        "charge, the vehicle's name, values as in --disturbances; reset: vehicles "
        "(all); save, load: a name (snapshot)",
    )
    parser.add_argument(
        "--n",
        type=number_type("n", 1, 1_000_000, whole=True),
        default=1,
        help="number of steps (1)",
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    ports.add_option(parser)
    parser.set_defaults(run=_control)


def register_warmup(subparsers: Any) -> None:
    """`xtdrone warmup`: compile every kernel, so that the next start is quick."""
    parser = subparsers.add_parser(
        "warmup",
        help="compile the kernels once, so that starts are quick",
        epilog="examples:\n  xtdrone warmup",
    )
    parser.set_defaults(run=_warmup)


def register_vehicle(subparsers: Any) -> None:
    """`xtdrone vehicle`: derived figures of a vehicle."""
    parser = subparsers.add_parser(
        "vehicle", help="check vehicles, show their derived figures", epilog=VEHICLE_EXAMPLES
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    show = actions.add_parser(
        "show", help="hover throttle, thrust to weight, what it can command, force envelope"
    )
    name = show.add_argument("vehicle", help="a name from models/, or an SDF file")
    name.completer = lambda **_: resources.vehicle_names()
    show.add_argument(
        "--out", metavar="FILE", help="draw rotors, wings and force envelope (not drawn)"
    )
    show.add_argument("--json", action="store_true", help="print figures as JSON")
    show.set_defaults(run=_show_vehicle)
    checked = actions.add_parser("check", help="a line on each model: whether it loads and flies")
    checked.add_argument(
        "path", nargs="+", help="an SDF file, a model's folder, or a folder of models"
    )
    checked.add_argument(
        "--hover",
        type=number_type("hover", 0.0, 3600.0, unit="s"),
        default=0.0,
        metavar="SECONDS",
        help="fly each that has rotors so long (0: only load)",
    )
    checked.set_defaults(run=_check_vehicles)
    known = actions.add_parser("presets", help="sensor presets, for <preset> in a vehicle's file")
    known.add_argument("preset", nargs="?", help="show its values with unit and source")
    known.set_defaults(run=_presets)


def _show_vehicle(args):
    from .vehicles.report import draw_layout, vehicle_figures, vehicle_sensors
    from .vehicles.sdf import load_vehicle

    model = load_vehicle(args.vehicle)
    figures = {**vehicle_figures(model), "sensors": vehicle_sensors(model)}
    if args.out and not model.rotors:
        raise ScenarioError(f"vehicle '{args.vehicle}' has no rotors to draw: leave out --out")
    if args.out:
        draw_layout(model, args.out)
    if args.json:
        print(json.dumps(figures, indent=2).replace("Infinity", "null"))  # JSON has no such word
        return
    sensors, effects = figures.pop("sensors"), figures.pop("effects")
    for key, value in figures.items():
        if not value and isinstance(value, list):
            continue
        print(f"{key}:")
        matrix = isinstance(value, list) and isinstance(value[0], (list, str))
        for row in value if matrix else [value]:
            numbers = row if isinstance(row, list) else [row]
            print(
                "   "
                + "".join(f" {x:>11}" if isinstance(x, str) else f" {x:11.5g}" for x in numbers)
            )
    print(
        "effects:" + "".join(f"\n    {name} {_listed(tags)}" for name, tags in effects.items())
        if effects
        else "effects: none"
    )
    print("sensors:")
    for sensor in sensors:
        position = " ".join(f"{x:.4g}" for x in sensor["pos_m"])
        print(f"    {sensor['kind']} '{sensor['name']}' at {position} m")
        for line in _lines(sensor["parameters"]):
            print(f"        {line}")
    if args.out:
        print(f"drawing: {args.out}")


def _check_vehicles(args):
    """A line on each model; status 1 if one is refused or fails."""
    from .vehicles.check import check, models_in

    said, bad = logging.getLogger("xtdrone_sim.simulation"), False
    said.disabled = True  # the remarks are in the lines
    try:
        for path in (model for given in args.path for model in models_in(Path(given).expanduser())):
            found = check(path, args.hover)
            bad = bad or found.verdict in ("refused", "fails")
            print(
                f"{found.verdict:8} {path.name:28} "
                + "; ".join(text for text in (found.reason, *found.remarks) if text),
                flush=True,
            )
    finally:
        said.disabled = False
    return int(bad)


def _lines(parameters) -> list[str]:
    """A line for each quantity or camera of a sensor, and one for the rest."""
    parts = {name: value for name, value in parameters.items() if isinstance(value, dict)}
    rest = {name: value for name, value in parameters.items() if name not in parts}
    lines = [f"{name}: {_listed(value)}" for name, value in parts.items()]
    return [*lines, _listed(rest)] if rest else lines


def _listed(values) -> str:
    """Names and values on one line."""

    def word(x):
        return "unset" if x is None else x if isinstance(x, str) else f"{x:.4g}"

    return ", ".join(
        " ".join((name, *map(word, value if isinstance(value, (list, tuple)) else (value,))))
        for name, value in values.items()
    )


def _presets(args):
    from sensor_models.parameters import preset_text, presets

    if args.preset:
        print(preset_text(args.preset))
    else:
        for kind, names in presets().items():
            print(f"{kind}: {', '.join(names)}")


def _sim(args):
    with _ended_at_once():
        from .simulation import Simulation
        from .warm_up import ensure_warm

    scenario = scenario_options.scenario_of(
        args, **dict(pair("default", word) for word in args.default)
    )
    until = None if args.duration is None else round(args.duration * 1e6)
    # Opened before the kernels are compiled: a client that connects knows that there is something
    # to wait for.
    server = ControlServer(ports.Ports(scenario.instance).control)
    ensure_warm()
    wanted = not args.no_run_folder
    with contextlib.closing(server), _folder_of(scenario, wanted) as folder, _Signals() as signals:
        simulation = Simulation(scenario, folder, control=server)
        _open_stations(simulation)
        for line in _grounded(simulation):
            print(f"warning: {line}", file=sys.stderr, flush=True)
        print(
            f"{scenario.n} vehicle{'s' * (scenario.n > 1)} in '{scenario.world}', engine "
            f"{scenario.engine}, autopilot {scenario.flown_by}; ground stations: UDP "
            f"{ports.Ports(scenario.instance).ground_station}; run folder: {folder}",
            flush=True,
        )
        awaited = args.await_bridge or scenario.ros2
        _run(simulation, signals, until, awaited and scenario.speed == 0.0)
        stopped = signals.came
        signals.conclude()
        if folder is not None and not stopped:
            _plot(folder)
        return _closed(simulation)


def _fly(args):
    scenario = scenario_options.scenario_of(args, speed=0.0, name=args.agent.split(":")[-1])
    with _ended_at_once():
        from .warm_up import ensure_warm

        agent_class = registry.AGENTS.load(args.agent)
    settings = arguments.read(f"agent '{args.agent}'", agent_class, args.set)
    ensure_warm()
    with _folder_of(scenario) as folder, _Signals() as signals:
        simulation = _flown(args, scenario, (agent_class, settings), folder, signals)
    _report(simulation.agent, folder)
    status = _closed(simulation)
    if not simulation.agent.done:
        raise KeyboardInterrupt
    return status


def _open_stations(simulation):
    """Opens who else sees the flight: the page, ROS 2, Foxglove, PX4's viewer, as asked for."""
    scenario = simulation.scenario
    stations = (
        (scenario.web, _open_page),
        (scenario.ros2, _join_ros2),
        (scenario.foxglove or scenario.mcap, _open_telemetry),
        (scenario.viewer, _feed_viewer),
    )
    try:
        for wanted, opened in stations:
            if wanted:
                opened(simulation)
    except BaseException:
        simulation.close()
        raise


def _open_page(simulation):
    from xtdrone_web.station import Station

    station = Station(simulation, simulation.scenario.web_address)
    simulation.observers.append(station)
    print(
        f"page: {station.url}\npage for viewers, who cannot command: {station.watch_url}",
        flush=True,
    )


def _join_ros2(simulation):
    from xtdrone_ros2.station import Ros2Station

    simulation.observers.append(Ros2Station(simulation))
    scenario = simulation.scenario
    print(f"ROS 2: domain {scenario.ros2_domain} on {scenario.ros2_address}", flush=True)


def _open_telemetry(simulation):
    from xtdrone_web.foxglove.telemetry import Telemetry

    telemetry = Telemetry(simulation)
    simulation.observers.append(telemetry)
    if telemetry.url:
        print(f"Foxglove: {telemetry.url}", flush=True)


def _feed_viewer(simulation):
    from .viewing.px4_viewer import Px4Viewer

    simulation.observers.append(Px4Viewer(simulation))


def _closed(simulation):
    """Prints how a flight went; returns the exit status."""
    from .figures import closing_lines

    print("\n".join(closing_lines(simulation)), flush=True)
    if simulation.crashes:
        return CRASHED
    return MISSED if goals_missed(simulation.reached) else 0


def _flown(args, scenario, agent, folder, signals):
    """The simulation after its flight."""
    from .simulation import Simulation

    stations = scenario.web or scenario.ros2
    server = ControlServer(ports.Ports(scenario.instance).control) if stations else None
    simulation = Simulation(scenario, folder, control=server, links=args.links or stations)
    _open_stations(simulation)
    bar = _Bar(args.agent, simulation)
    simulation.observers.append(bar)
    try:
        if grounded := [*_grounded(simulation), *_not_hovering(simulation, args.agent, agent[0])]:
            raise ScenarioError("; ".join(grounded))
        simulation.agent = _agent(*agent, simulation, bar)
    except BaseException:
        simulation.close()
        raise
    try:
        _run(simulation, signals, None, scenario.ros2 and scenario.speed == 0.0)
    except XtdroneError as error:
        failed = type(error)("; ".join([str(error), *_reasons(simulation, str(error))]))
        failed.status = CRASHED if simulation.crashes else error.status
        raise failed from error
    return simulation


def _grounded(simulation):
    """A line for each vehicle that the embedded flight stack cannot fly, with the reason."""
    from xtdrone_dynamics.abilities.vehicle_type import cannot_fly

    scenario = simulation.scenario
    return [
        f"{spec.name} cannot be flown: {why}"
        for spec, why, autopilot in zip(
            scenario.vehicles, cannot_fly(simulation.fleet), scenario.autopilots, strict=True
        )
        if why and autopilot == "embedded"
    ]


def _not_hovering(simulation, name, agent_class):
    """A line for each vehicle that cannot hover, if the Agent takes off and hovers."""
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


def _agent(agent_class, settings, simulation, bar):
    """A new Agent for a simulation, whose events go to the run folder and to the bar.

    Raises:
        ScenarioError: It does not accept the given arguments.
    """

    def on_event(t_us, name, **values):
        simulation.event(t_us, name, **values)
        bar.note(name, values)

    try:
        agent = agent_class(simulation.scenario.n, on_event=on_event, **settings)
    except TypeError as error:
        raise ScenarioError(
            f"agent '{agent_class.__name__}' does not accept that: {error}"
        ) from error
    return agent


def _reasons(simulation, error) -> list[str]:
    """Crashes, the last warning, why vehicles are not ready to arm, and the path of the logs.

    None of a flight that has not begun.
    """
    if simulation.t_us < TICK_US:
        return []
    warning = simulation.last_warning
    said = (
        []
        if warning is None or warning.split(": ", 1)[1] in error
        else [f"last warning: {warning}"]
    )
    waiting = [
        f"{spec.name}: {state['not_ready']}"
        for spec, state in zip(simulation.scenario.vehicles, simulation.autopilot.health())
        if state["not_ready"]
    ]
    logs = [f"run folder: {simulation.folder}"]
    crashes = [f"{crash} at {crash.t_us * 1e-6:.1f} s" for crash in simulation.crashes[:_SHOWN]]
    return crashes + said + waiting[:_SHOWN] + logs


def _plot(folder):
    """Draws the overview of a flight, if the disk takes it and holds the flight."""
    from xtdrone_core import plot_style
    from xtdrone_plots import figures, run

    try:
        plot_style.save(figures.overview(run.Run(folder)), folder / "plots" / "flight.png")
    except (OSError, XtdroneError) as error:
        print(f"warning: no plot of the flight: {error}", file=sys.stderr)


def _report(agent, folder):
    _plot(folder)
    if isinstance(agent, Reporting):
        agent.report(folder)


def _run(simulation, signals, until_us=None, await_bridge=False):
    """Runs until the end or a signal, and always closes.

    Raises:
        KeyboardInterrupt: The signal came before the flight had begun.
    """
    signals.stop(simulation)
    try:
        if simulation.scenario.gui:
            simulation.open_viewer()
        if await_bridge:
            simulation.requests.await_bridge()
        simulation.run(until_us)
    finally:
        simulation.close()
    if signals.came and simulation.t_us < TICK_US:
        raise KeyboardInterrupt


@contextlib.contextmanager
def _ended_at_once():
    """Around imports: some C modules turn a KeyboardInterrupt into other errors."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Signals:
    """Signals that shut a simulation down cleanly, also during construction."""

    def __init__(self):
        self.came = False
        self._simulation = None

    def __enter__(self):
        self._before = {
            which: signal.signal(which, self._take)
            for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        return self

    def __exit__(self, *_):
        for which, handler in self._before.items():
            signal.signal(which, handler)

    def stop(self, simulation):
        """Stops this simulation when a signal comes, or has come."""
        self._simulation = simulation
        if self.came:
            simulation.stop()

    def conclude(self):
        """After the flight: the first signal, which roslaunch may send now, interrupts nothing."""
        self._simulation, self.came = None, False

    def _take(self, number, _):
        if self._simulation is not None:
            self._simulation.stop()
        elif self.came:  # the second one: what is being built or concluded may be stuck
            raise KeyboardInterrupt
        self.came = True


@contextlib.contextmanager
def _folder_of(scenario, wanted=True):
    """A new run folder, or None; it is removed after an error before the flight."""
    if not wanted:
        yield None
        return
    folder = run_folder.create(scenario.name, scenario.instance)
    try:
        scenario.save(folder / "scenario.yaml")
        yield folder
    except BaseException:
        run_folder.discard_unflown(folder)
        raise


class _Bar(Observer):
    """Progress of a flight of unknown length: simulated time, factor, last event."""

    period_us = 1_000_000

    def __init__(self, label, simulation):
        from tqdm import tqdm

        # The delay leaves the screen alone until the flight moves: errors before it are one line.
        self._bar = tqdm(
            desc=label,
            unit=" s",
            file=sys.stderr,
            mininterval=0.2,
            delay=1e-3,
            disable=None,  # in a file or pipe
            bar_format="{desc}: {n:.0f} s simulated, {elapsed} elapsed{postfix}",
        )
        self._event = "on the ground"
        self._simulation = simulation

    def note(self, name, values):
        which = values.get("formation", values.get("index", ""))
        self._event = f"{name} {which}".rstrip()

    def on_step(self, t_us, state, sensors):
        self._bar.set_postfix_str(
            f"{self._simulation.real_time_factor():.1f} x real time, {self._event}", refresh=False
        )
        self._bar.update(1)

    def close(self):
        self._bar.close()


def _control(args):
    from xtdrone_core.runs.control_link import ControlClient

    values = {
        "step": {"n": args.n},
        "disturb": {"disturbance": " ".join(args.value)},
        "reset": {"vehicles": args.value or None},
    }.get(args.action, {})
    if args.action in ("save", "load") and args.value:
        values = {"name": " ".join(args.value)}
    if args.action == "speed":
        values = {"speed": number("speed", " ".join(args.value) or "without a factor", 0.0)}
    client = ControlClient(args.instance)
    answer = client.request(args.action, **values)
    client.close()
    answer.pop("ok")
    if args.json:
        print(json.dumps(answer))
        return
    for key, value in answer.items():
        print(f"{key}: {', '.join(value) if isinstance(value, list) else value}")


def _warmup(args):
    from .warm_up import warm_up

    warm_up()
