"""Subcommand `xtdrone tune`: gains of the teleoperation from a flight log."""

import math
import time
from pathlib import Path
from typing import Any

from xtdrone_core.errors import unknown_name
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type

from .errors import TuneError

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
  xtdrone fly teleoperation --vehicle tello --sticks flight.csv --gains tuned/gains.yaml
"""


def register(subparsers: Any) -> None:
    """`xtdrone tune`."""
    parser = subparsers.add_parser("tune", help="tune the teleoperation's gains from a flight log",
                                   epilog=EXAMPLES)
    parser.add_argument("log", help="CSV of xtdrone's columns, Tello Vision or DatCon, or ULog")
    axis = parser.add_argument("--axis", metavar="NAMES", default="", help="some of height, yaw, "
                               "pitch, roll, separated by commas (all that move)")
    axis.completer = lambda **_: ("height", "yaw", "pitch", "roll")
    parser.add_argument("--method", choices=METHODS, default="scipy", metavar="METHOD",
                        help=f"{', '.join(METHODS)} (scipy)")
    parser.add_argument("--model", choices=MODELS, default="extended", metavar="MODEL",
                        help=f"{', '.join(MODELS)} (extended)")
    parser.add_argument("--from", dest="begin", type=number_type("from", 0.0, unit="s"),
                        default=0.0, metavar="SECONDS", help="begin of the stretch (0)")
    parser.add_argument("--to", dest="end", type=number_type("to", 0.0, unit="s"),
                        default=math.inf, metavar="SECONDS", help="its end (that of the log)")
    parser.add_argument("--held_out", type=number_type("held_out", 0.0, 0.9), default=0.3,
                        metavar="SHARE", help="of the stretch, at its end, only to grade on (0.3)")
    parser.add_argument("--generations", type=number_type("generations", 10, 100_000, whole=True),
                        default=1000, metavar="N", help="of the search (1000)")
    parser.add_argument("--seed", type=number_type("seed", 0, 2**31, whole=True), default=1,
                        metavar="N", help="the same gives the same (1)")
    parser.add_argument("--out", metavar="FOLDER", help="of gains.yaml, fit.png and result.json "
                        "(runs/tune_NAME)")
    parser.set_defaults(run=_tune)


def _axes(text):
    from xtdrone_control.teleoperation.control import AXES

    names = [name.strip() for name in text.split(",") if name.strip()] or list(AXES)
    for name in names:
        if name not in AXES:
            raise TuneError(unknown_name("axis", name, AXES))
    return sorted({AXES.index(name) for name in names})


def _tune(args):
    from xtdrone_control.teleoperation import gains, record
    from xtdrone_core import plot_style

    from . import report, tuning

    axes = _axes(args.axis)
    flight = record.read(args.log).between(args.begin, args.end)
    folder = _folder(args)
    begun = time.perf_counter()
    found = _with_bar(args, flight, axes)
    seconds = time.perf_counter() - begun
    first, _ = tuning.split(flight, args.held_out)
    together = tuning.together(first, found)
    print("\n".join(report.lines(found, together)))
    print(f"{args.method}, {args.model}: {seconds:.1f} s")
    moved = {one.name: one.gains for one in found if one.moves}
    title = f"{Path(args.log).name}\n{args.method}, {args.model} model"
    print(gains.write(folder / "gains.yaml", moved, tuning.delay_of(found)))
    print(plot_style.save(report.draw(found, title), folder / "fit.png"))
    print(report.write_json(folder / "result.json", {
        "method": args.method, "model": args.model, "seed": args.seed, "seconds": seconds,
        "axes": report.data(found, together)}))


def _folder(args):
    """Made before the search, so that nothing is searched for in vain."""
    name = f"tune_{Path(args.log).stem}"
    folder = Path(args.out).expanduser() if args.out else run_folder.runs_root() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failed:
        raise TuneError(f"cannot write to '{folder}': {failed.strerror}; give another folder with "
                        "--out") from failed
    return folder


def _with_bar(args, flight, axes):
    from tqdm import tqdm

    from . import tuning

    with tqdm(total=args.generations * len(axes), desc=Path(args.log).name, disable=None,
              unit="generation") as bar:
        return tuning.tune(flight, axes, args.method, extended=args.model == "extended",
                           held_out=args.held_out, generations=args.generations, seed=args.seed,
                           watch=bar.update)
