"""Subcommand `xtdrone tune`: gains of the teleoperation from a flight log."""

import math
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from xtdrone_core import registry
from xtdrone_core.command import Subparsers
from xtdrone_core.errors import unknown_name
from xtdrone_core.runs import ports, run_folder
from xtdrone_core.scenario.options import number_type

from .errors import TuneError

if TYPE_CHECKING:
    from xtdrone_control.teleoperation.record import Record

    from .tuning import Tuned

MODELS = ("extended", "published")
METHODS = ("scipy", "de", "cma")
EXAMPLES = """methods:
  scipy  SciPy's differential evolution and simplex; the quickest
  de     rand/1/bin as published: 1000 generations of 20, CR 0.5, F 0.5, each gain in 0 to 30
  cma    CMA-ES from three starts
models:
  published  four numbers an axis: k, p, i, d
  extended   and the link's delay, and a lean of pitch and roll against a wind

examples:
  xtdrone tune flight.csv                      all four axes, into runs/tune_flight
  xtdrone tune flight.csv --axis pitch,roll --from 172 --to 218
  xtdrone tune log.ulg --method de --model published --held_out 0
  xtdrone tune flight.csv --out tuned          tuned/gains.yaml, fit.png, result.json
  xtdrone tune log.ulg --preview               how much each axis of a log moves
  xtdrone tune --web                           the same on a page
  xtdrone fly teleoperation --vehicle tello --sticks flight.csv --gains tuned/gains.yaml
"""


def register(subparsers: Subparsers) -> None:
    """`xtdrone tune`."""
    parser = subparsers.add_parser(
        "tune", help="tune the teleoperation's gains from a flight log", epilog=EXAMPLES
    )
    parser.add_argument(
        "log",
        nargs="?",
        metavar="LOG",
        help="CSV of xtdrone's columns, Tello Vision or DatCon, or ULog",
    )
    axis = parser.add_argument(
        "--axis",
        metavar="NAMES",
        default="",
        help="some of height, yaw, pitch, roll, separated by commas (all that move)",
    )
    axis.completer = lambda **_: ("height", "yaw", "pitch", "roll")
    parser.add_argument(
        "--method",
        choices=METHODS,
        default="scipy",
        metavar="METHOD",
        help=f"{', '.join(METHODS)} (scipy)",
    )
    parser.add_argument(
        "--model",
        choices=MODELS,
        default="extended",
        metavar="MODEL",
        help=f"{', '.join(MODELS)} (extended)",
    )
    parser.add_argument(
        "--from",
        dest="begin",
        type=number_type("from", 0.0, unit="s"),
        default=0.0,
        metavar="SECONDS",
        help="begin of the stretch (0)",
    )
    parser.add_argument(
        "--to",
        dest="end",
        type=number_type("to", 0.0, unit="s"),
        default=math.inf,
        metavar="SECONDS",
        help="its end (that of the log)",
    )
    parser.add_argument(
        "--held_out",
        type=number_type("held_out", 0.0, 0.9),
        default=0.3,
        metavar="FRACTION",
        help="fraction of the stretch, at its end, that is only evaluated (0.3)",
    )
    parser.add_argument(
        "--generations",
        type=number_type("generations", 10, 100_000, whole=True),
        default=1000,
        metavar="N",
        help="number of generations of the search (1000)",
    )
    parser.add_argument(
        "--seed",
        type=number_type("seed", 0, 2**31, whole=True),
        default=1,
        metavar="N",
        help="the same seed gives the same result (1)",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="of gains.yaml, fit.png and result.json "
        "(runs/tune_NAME; of a run's ULog runs/tune_RUN_VEHICLE_NAME)",
    )
    parser.add_argument("--preview", action="store_true", help="say what is in the log")
    parser.add_argument(
        "--json", action="store_true", help="progress and result as lines of JSON, for programs"
    )
    parser.add_argument("--web", action="store_true", help="serve a page, until Ctrl-C")
    parser.add_argument(
        "--web_address",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="IPv4 address on which it is served (127.0.0.1)",
    )
    ports.add_option(parser)
    parser.set_defaults(run=_run)


def _run(args: Namespace) -> int | None:
    if args.web:
        return _serve(args)
    if args.log is None:
        raise TuneError("no log is given: give a CSV or ULog, or --web for the page")
    (_preview if args.preview else _tune)(args)
    return None


def _serve(args: Namespace) -> int:
    """Serves the page, which another package registers."""
    page = registry.entries("xtdrone.pages").get("tuning")
    if page is None:
        raise TuneError("the page of --web is not installed: it is in the package xtdrone_web")
    status: int = page.load()(args.log, args.web_address, args.instance)
    return status


def _axes(text: str) -> list[int]:
    from xtdrone_control.teleoperation.control import AXES

    names = [name.strip() for name in text.split(",") if name.strip()] or list(AXES)
    for name in names:
        if name not in AXES:
            raise TuneError(unknown_name("axis", name, AXES))
    return sorted({AXES.index(name) for name in names})


def _read(args: Namespace) -> tuple["Record", float]:
    """Reads the stretch of the log; returns also where it begins in the log [s]."""
    from xtdrone_control.teleoperation import record

    whole = record.read(args.log)
    return whole.between(args.begin, args.end), float(whole.t_s[whole.t_s >= args.begin][0])


def _preview(args: Namespace) -> None:
    from . import json_lines, report, tuning

    flight, _ = _read(args)
    previews = tuning.preview(flight)
    if args.json:
        json_lines.record(flight, previews)
    else:
        print("\n".join(report.preview_lines(flight.t_s[-1], previews)))


def _tune(args: Namespace) -> None:
    from xtdrone_control.teleoperation import gains
    from xtdrone_core import plot_style

    from . import json_lines, report, tuning

    axes = _axes(args.axis)
    flight, start = _read(args)
    folder = _folder(args)
    if args.json:
        json_lines.begin(folder)
    begun = time.perf_counter()
    tuned = _search(args, flight, axes)
    seconds = time.perf_counter() - begun
    first, _ = tuning.split(flight, args.held_out)
    together = tuning.together(first, tuned)
    moved = {one.name: one.gains for one in tuned if one.moves}
    title = f"{Path(args.log).name}\n{args.method}, {args.model} model"
    result = {
        "method": args.method,
        "model": args.model,
        "seed": args.seed,
        "seconds": seconds,
        "axes": report.data(tuned, together),
    }
    paths = [
        gains.write(folder / "gains.yaml", moved, tuning.delay_of(tuned)),
        plot_style.save(report.draw(tuned, title), folder / "fit.png"),
        report.write_json(folder / "result.json", result),
    ]
    if args.json:
        json_lines.done(tuned, start, folder, paths[0], result)
        return
    print("\n".join(report.lines(tuned, together)))
    print(f"{args.method}, {args.model}: {seconds:.1f} s", *paths, sep="\n")


def _folder(args: Namespace) -> Path:
    """Makes the folder of results before the search, so that none is lost."""
    folder = Path(args.out).expanduser() if args.out else run_folder.runs_root() / _name(args.log)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failed:
        raise TuneError(
            f"cannot write to '{folder}': {failed.strerror}; give another folder with --out"
        ) from failed
    return folder


def _name(log: str) -> str:
    """Names the folder of results; flight logs of runs are all called log001.ulg or so."""
    *_, run, ulog, vehicle, name = ("", "", "", *Path(log).absolute().parts)
    stem = Path(name).stem
    return f"tune_{run}_{vehicle}_{stem}" if ulog == "ulog" else f"tune_{stem}"


def _search(args: Namespace, flight: "Record", axes: list[int]) -> "list[Tuned]":
    """Searches with a progress bar, or with lines for programs."""
    from tqdm import tqdm

    from . import json_lines, tuning

    progress = json_lines.Progress(args.generations)
    with tqdm(
        total=args.generations * len(axes),
        desc=Path(args.log).name,
        unit="generation",
        disable=True if args.json else None,
    ) as bar:
        return tuning.tune(
            flight,
            axes,
            args.method,
            extended=args.model == "extended",
            held_out=args.held_out,
            generations=args.generations,
            seed=args.seed,
            watch=progress if args.json else lambda axis, more, best: bar.update(more),
        )
