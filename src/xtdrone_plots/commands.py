"""Subcommand `xtdrone plot`: figures of a run or of a flight log, and signals of a simulation."""

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from xtdrone_core import XtdroneError, files, plot_look
from xtdrone_core.command import Subparsers
from xtdrone_core.errors import unknown_name
from xtdrone_core.runs import ports, run_folder
from xtdrone_core.scenario.options import number_type

if TYPE_CHECKING:
    from .run import Run

EXAMPLES = """examples:
  xtdrone plot                                 every figure of the newest run, into its plots/
  xtdrone plot latest --figures map,velocity --pdf
  xtdrone plot latest --style paper             for a column of a paper, with the data as CSV
  xtdrone plot latest --vehicles iris_0 --signals truth.z,estimate.z battery_status.voltage_v
  xtdrone plot runs/latest/ulog/iris_0/log001.ulg    the standard plots of a flight log, also PX4's
  xtdrone plot --live                          a window on the running simulation
  xtdrone plot --live --signals x,y z speed --window 30
"""
_MAX_SIGNALS = 20  # panels of a figure, and signals of a panel
LIVE = ("z", "speed", "tilt")  # signals of the window without --signals


def register(subparsers: Subparsers) -> None:
    """`xtdrone plot`."""
    parser = subparsers.add_parser(
        "plot", help="draw a run or a flight log, plot a simulation live", epilog=EXAMPLES
    )
    run_folder.add_argument(parser)
    figures = parser.add_argument(
        "--figures", metavar="NAMES", default="", help="some of them, separated by commas (all)"
    )
    figures.completer = lambda **_: _figures()
    signals = parser.add_argument(
        "--signals",
        nargs="+",
        metavar="NAME[,NAME]",
        default=[],
        help="plot these instead, a panel for each argument: truth.z, estimate.vx, set_point.y, "
        "TOPIC.FIELD of the flight logs",
    )
    signals.completer = complete_signals
    vehicles = parser.add_argument(
        "--vehicles",
        metavar="NAMES",
        default="",
        help="only these vehicles, separated by commas (all)",
    )
    vehicles.completer = complete_vehicles
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--pdf", action="store_true", help="PDF files")
    kind.add_argument("--svg", action="store_true", help="SVG files (PNG)")
    plot_look.add_argument(parser)
    parser.add_argument("--out", metavar="FOLDER", help="folder of the files (plots/ of the run)")
    live = parser.add_argument_group("live")
    live.add_argument(
        "--live",
        action="store_true",
        help="a window that plots true signals of a running simulation",
    )
    live.add_argument(
        "--window",
        type=number_type("window", 1.0, 3600.0, unit="s"),
        default=60.0,
        metavar="SECONDS",
        help="simulated time that it shows (60)",
    )
    live.add_argument("--png", metavar="FILE", help="write a picture after this time, and end")
    ports.add_option(live)
    parser.set_defaults(run=_plot)


def _figures() -> list[str]:
    from .figures import FIGURES

    return list(FIGURES)


def _run_of(args: Namespace) -> "Run":
    from .run import Run

    return Run(run_folder.find(args.of_run))


def complete_signals(parsed_args: Namespace, prefix: str = "", **_: object) -> list[str]:
    """Returns names of signals, also after a comma."""
    from . import signals

    try:
        known = list(signals.TRUTH) if parsed_args.live else signals.names(_run_of(parsed_args))
    except (XtdroneError, OSError):
        return []
    return _after_comma(known, prefix)


def complete_vehicles(parsed_args: Namespace, prefix: str = "", **_: object) -> list[str]:
    """Returns names of vehicles, also after a comma."""
    try:
        run = _run_of(parsed_args)
    except (XtdroneError, OSError):
        return []
    return _after_comma([run.name(i) for i in run.index], prefix)


def _after_comma(names: list[str], prefix: str) -> list[str]:
    """Returns names that continue a list separated by commas."""
    given = prefix.rpartition(",")[0]
    return [f"{given},{name}" if given else name for name in names]


def _list(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _panels(args: Namespace) -> list[list[str]]:
    """Returns the names of the signals of each panel."""
    panels = [_list(panel) for panel in args.signals]
    largest = max(len(panels), *map(len, panels)) if panels else 0
    if largest > _MAX_SIGNALS or not all(panels):
        what = (
            f"{largest} panels or signals in a panel" if all(panels) else "a panel without signals"
        )
        raise XtdroneError(
            f"--signals has {what}: give 1 to {_MAX_SIGNALS} panels, each with 1 "
            f"to {_MAX_SIGNALS} signals, as 'truth.x,truth.y truth.z'"
        )
    return panels


def _plot(args: Namespace) -> None:
    if args.live:
        _live(args)
        return
    with plot_look.using(args.style):
        if args.of_run.lower().endswith(".ulg"):
            _plot_log(args)
        else:
            _plot_run(args)


def _suffix(args: Namespace) -> str:
    return ".pdf" if args.pdf else ".svg" if args.svg else ".png"


def _plot_log(args: Namespace) -> None:
    from xtdrone_autopilot.ulog import plots, reader

    path = Path(args.of_run)
    log = reader.FlightLog(path)
    for picture in plots.draw(log, args.out or path.parent, _suffix(args)[1:]):
        print(picture)


def _plot_run(args: Namespace) -> None:
    from xtdrone_core import plot_style

    from . import figures, signals
    from .run import Run

    names = _list(args.figures)
    for name in names:
        if name not in figures.FIGURES:
            raise XtdroneError(unknown_name("figure", name, figures.FIGURES))
    panels = _panels(args)
    run = Run(run_folder.find(args.of_run), _list(args.vehicles))
    out = Path(args.out).expanduser() if args.out else run.folder / "plots"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise files.FileError(
            f"cannot write to '{out}': {error.strerror}; give another folder with --out"
        ) from error
    if panels:
        figure = signals.draw(run, panels)
        print(plot_style.save(figure, out / f"signals{_suffix(args)}"))
        return
    for path in figures.draw(run, names, out, _suffix(args)):
        print(path, flush=True)


def _live(args: Namespace) -> None:
    from . import live, signals

    panels = [[name.removeprefix("truth.") for name in panel] for panel in _panels(args)] or [
        [name] for name in LIVE
    ]
    for name in (name for panel in panels for name in panel):
        if name not in signals.TRUTH:
            raise XtdroneError(
                f"{unknown_name('signal', name, signals.TRUTH)}; a running "
                "simulation has its truth, flight logs come with the run folder"
            )
    live.show(panels, _list(args.vehicles), args.window, args.instance, args.png)
