"""The command `xtdrone formation`: show, simulate, report, table, compare, view."""

import argparse
from argparse import Namespace
from pathlib import Path
from typing import Any

from xtdrone_core import plot_look
from xtdrone_core.command import Subparsers
from xtdrone_core.errors import unknown_name
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type
from xtdrone_core.scenario.vehicles import MAX_FLEET
from xtdrone_core.windows import display

from . import options
from .declarations import SOURCES, formation_names
from .errors import FormationError

EXAMPLES = """examples:
  xtdrone formation show pyramid --n 9 --out pyramid.png
  xtdrone formation simulate --n 1000 --formations cube,sphere --transition_speed 4.5
  xtdrone formation simulate --n 9 --formations V --scale 2 --rotation 45
  xtdrone formation simulate --n 9 --topology ring --loss 0.2 --delay 0.2 --leader_lost 20,30
  xtdrone formation report latest
  xtdrone formation report latest --from ulog
  xtdrone formation table latest
  xtdrone formation compare simple simple-2
  xtdrone formation compare latest --from truth,rosbag,ulog
  xtdrone formation view latest
  xtdrone formation view --n 100 --formations cube,sphere
  xtdrone formation view latest --at 25 --png cube.png
"""


_VEHICLES = number_type("n", 1, MAX_FLEET, whole=True)


def register(subparsers: Subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser(
        "formation",
        help="show, fly and evaluate formations",
        description="Formations of any size.",
        epilog=EXAMPLES,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_show(actions)
    _add_simulate(actions)
    _add_report(actions)
    _add_table(actions)
    _add_compare(actions)
    _add_view(actions)


def _add_show(actions: Subparsers) -> None:
    show = actions.add_parser("show", help="list the slots of a formation, or draw them")
    name = show.add_argument(
        "name", help="a formation, or a CSV file with a row x,y,z for each follower"
    )
    name.completer = lambda **_: list(formation_names())
    show.add_argument(
        "--n", type=_VEHICLES, default=9, help="number of vehicles, the leader included"
    )
    options.add_shape(show)
    show.add_argument("--out", metavar="FILE", help="draw it to this file (not drawn)")
    show.set_defaults(run=_show)


def _add_simulate(actions: Subparsers) -> None:
    simulate = actions.add_parser(
        "simulate",
        help="fly formations in the simple 3D simulator; in the full one: xtdrone fly formation",
    )
    _add_flight(simulate)
    simulate.add_argument("--name", default="simple", help="run folder (simple)")
    simulate.set_defaults(run=_simulate, adapt=_adapt)


def _adapt(args: Namespace, words: list[str]) -> list[str]:
    """Translates `--set NAME=VALUE`, as of `xtdrone fly formation`, to the options here."""
    out, rest = [], iter(words)
    for word in rest:
        given = next(rest, "") if word == "--set" else word.removeprefix("--set=")
        name, equals, value = given.partition("=")
        takes = word.startswith("--set") and equals and name in vars(args)
        out += [f"--{name}", value] if takes else [word, given] if word == "--set" else [word]
    return out


def _add_flight(parser: argparse.ArgumentParser) -> None:
    """Adds options of a flight in the simple simulator."""
    add = parser.add_argument
    add("--n", type=_VEHICLES, default=9, help="number of vehicles, the leader included")
    options.add_formations(parser)
    options.add_shape(parser)
    options.add_scheme(parser)
    add(
        "--noise",
        type=number_type("noise", 0.0, 100.0, unit="m"),
        default=0.0,
        help="position error of vehicles [m]",
    )
    add("--seed", type=number_type("seed", 0, whole=True), default=1)


def _add_report(actions: Subparsers) -> None:
    report = actions.add_parser("report", help="metrics and plots of a run folder")
    run_folder.add_argument(report)
    report.add_argument(
        "--from",
        dest="source",
        choices=list(SOURCES),
        help="source of the motion (the first that the run has)",
    )
    plot_look.add_argument(report)
    report.set_defaults(run=_report)


def _add_table(actions: Subparsers) -> None:
    table = actions.add_parser("table", help="figures of a run that has ended, as a table")
    run_folder.add_argument(table)
    table.set_defaults(run=_table)


def _add_compare(actions: Subparsers) -> None:
    compare = actions.add_parser("compare", help="compare two or more runs")
    compare.add_argument(
        "runs", nargs="+", metavar="RUN", help="names of runs in runs/, or paths of their folders"
    ).completer = lambda **_: run_folder.names()
    compare.add_argument(
        "--from",
        dest="sources",
        metavar="SOURCES",
        type=_sources,
        default=[None],
        help="sources of the motion, separated by commas: "
        f"{', '.join(SOURCES)} (the first that a run has)",
    )
    compare.add_argument(
        "--out",
        metavar="FILE",
        help="file to write (plots/comparison.png in the first run's folder)",
    )
    plot_look.add_argument(compare)
    compare.set_defaults(run=_compare)


def _add_view(actions: Subparsers) -> None:
    view = actions.add_parser("view", help="watch a run, or a flight in the simple simulator")
    run_folder.add_argument(view, without="a flight in the simple simulator")
    _add_flight(view)
    view.add_argument(
        "--speed",
        type=number_type("speed", 0.001, 1000.0),
        default=1.0,
        help="simulated seconds per second",
    )
    view.add_argument(
        "--follow",
        default="fleet",
        choices=("fleet", "leader", "nobody"),
        help="whom the camera follows (fleet)",
    )
    view.add_argument(
        "--at", type=number_type("at", 0.0, 1e6, unit="s"), help="start at this simulated time [s]"
    )
    view.add_argument("--png", metavar="FILE", help="write one picture and exit; needs no display")
    view.set_defaults(run=_view)


def _sources(text: str) -> list[str]:
    """Parses the argument --from of compare."""
    names = text.split(",")
    wrong = [name for name in names if name not in SOURCES]
    if wrong:
        raise argparse.ArgumentTypeError(unknown_name("source", wrong[0], SOURCES))
    return names


def _show(args: Namespace) -> None:
    from . import formations

    offsets = formations.shaped(args.name, args.n, options.shape_of(args))
    name = Path(args.name).stem
    if args.out:
        from .evaluation import plots

        plots.formation(name, offsets, args.out)
    print(
        f"{name}: {args.n} vehicles, at least {formations.separation(offsets):.2f} m apart"
        + (f"; drawn to {args.out}" if args.out else "")
    )
    print("slot    east   north      up [m]")
    for slot, (east, north, up) in enumerate(offsets + 0.0, 1):
        print(f"{slot:4} {east:7.2f} {north:7.2f} {up:7.2f}")


def _simulate(args: Namespace) -> None:
    import time

    from .simple import run as simple_run

    folder, summary = simple_run.run(
        name=args.name, clock=time.perf_counter, progress=progress, **_flight(args)
    )
    print_report(summary)
    print(f"real-time factor {summary['real_time_factor']}")
    print(folder)


def _flight(args: Namespace) -> dict[str, Any]:
    """Returns the arguments of simple_run.run() and scenes.LiveFlight()."""
    return {
        "n": args.n,
        "names": args.formations,
        "scheme_name": args.scheme,
        "topology": args.topology,
        "radio": options.radio_of(args),
        "shape": options.shape_of(args),
        "speed": args.transition_speed,
        "noise": args.noise,
        "seed": args.seed,
    }


def progress(t_us: int, event: str, values: dict[str, Any]) -> None:
    """Prints one line for an event of a flight."""
    what = f" {values['formation']}" if "formation" in values else ""
    print(f"{t_us * 1e-6:8.2f} s  {event}{what}", flush=True)


def _report(args: Namespace) -> int:
    from .evaluation import report

    with plot_look.using(args.style):
        fields = report.report(run_folder.find(args.of_run), args.source)
    print_report(fields)
    return 0 if _flown(fields) else 1


def _table(args: Namespace) -> None:
    from .evaluation import table

    print(table.table(run_folder.find(args.of_run)))


def _flown(fields: dict[str, Any]) -> bool:
    """Returns whether a report is of a run with a formation."""
    return bool(fields["formations"] or fields.get("recorded_late") or "mission" in fields)


def print_report(fields: dict[str, Any]) -> None:
    """Prints the fields of a formation report, a line each."""
    if not _flown(fields):
        print("no formation was flown in this run: its events name none")
    for row in fields["formations"]:
        if row["settle_time_s"] is None:
            print(f"{row['name']:12s} not settled")
        else:
            print(
                f"{row['name']:12s} settled after {row['settle_time_s']:6.2f} s, slot error "
                f"{row['rms_slot_error_m']:.3f} m RMS, {row['max_slot_error_m']:.3f} m at most, "
                f"velocity {row['rms_velocity_error_m_s']:.3f} m/s RMS"
            )
    for name in fields.get("recorded_late", ()):
        print(f"{name:12s} excluded: in place when the recording begins")
    if "mission" in fields:
        row = fields["mission"]
        print(
            f"mission      {row['path_m']:.0f} m flown, slot error "
            f"{row['rms_slot_error_m']:.3f} m RMS, {row['max_slot_error_m']:.3f} m at most"
        )
    minimum = fields["min_separation_m"]
    print(
        f"least separation {'-' if minimum is None else f'{minimum:.2f} m'}, "
        f"{'all landed' if fields['landed'] else 'not all landed'}"
    )
    if "messages_sent" in fields:
        print(f"{fields['messages_sent']} messages sent, {fields['messages_lost']} lost")


def _compare(args: Namespace) -> None:
    from .evaluation import analysis, plots

    flights = [
        analysis.load(run_folder.find(run), source) for run in args.runs for source in args.sources
    ]
    for flight in flights:
        print(flight.title)
        print_report(flight.summary())
    out = Path(args.out) if args.out else flights[0].folder / "plots" / "comparison.png"
    if not args.out:
        out.parent.mkdir(exist_ok=True)
    with plot_look.using(args.style):
        print(plots.comparison(flights, out))


def _view(args: Namespace) -> None:
    from .viewing import scenes

    scene: scenes.Scene
    if args.of_run is None:
        scene = scenes.LiveFlight(**_flight(args))
    else:
        scene = scenes.Replay(run_folder.find(args.of_run))
    while args.at is not None and scene.t_s < args.at and not scene.done:
        scene.advance(min(args.at - scene.t_s, 1.0) + 1e-6)
    if args.png is None:
        display.require(FormationError, "give --png FILE for a picture, or set DISPLAY")
    else:
        display.start_virtual(FormationError)
    display.require_qt(FormationError, "pyqtgraph", "OpenGL")
    from .viewing import viewer

    if args.png is None:
        viewer.watch(scene, args.speed, args.follow)
        return
    viewer.picture(scene, args.png, args.follow)
    print(args.png)
