"""Subcommand `xtdrone export`: recorded flights as animated scenes for other programs."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xtdrone_core import outputs
from xtdrone_core.command import Subparsers
from xtdrone_core.errors import shown, unknown_name
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type, truth_type

from ..replay.commands import add_file_options, add_source

EXAMPLES = """examples:
  xtdrone export                               the newest run as flight.glb
  xtdrone export formation-2 --out scene.usdc --from 8 --to 40
  xtdrone export latest --out scene.usdz --vehicles iris_0,iris_3 --rate 50
  xtdrone export PX4.ulg --out scene.glb --vehicle iris --world outdoor

glTF (.glb) and USD (.usdc, .usda, .usdz) are read by Blender and many others. USD needs usd-core:
pip install 'xtdrone[usd]'. 'xtdrone replay' and 'xtdrone view' show a flight here.
"""
SUFFIXES = (".glb", ".usdc", ".usda", ".usdz")
_RATE, _FASTEST = 25.0, 250.0  # key frames per second
_GLB = f'"generator":"{outputs.MARK}"'.encode()


def register(subparsers: Subparsers) -> None:
    """`xtdrone export`."""
    parser = subparsers.add_parser(
        "export", help="write a run or log as animated glTF or USD", epilog=EXAMPLES
    )
    add_source(parser)
    out: Any = parser.add_argument(
        "--out",
        metavar="FILE",
        default="flight.glb",
        help=f"that is written; its name ends in {', '.join(SUFFIXES)} (flight.glb)",
    )
    out.completer = _complete_file
    second = number_type("time", 0.0, 1e9, unit="s")
    parser.add_argument(
        "--from",
        dest="begin",
        type=second,
        metavar="SECONDS",
        help="first simulated time (the start)",
    )
    parser.add_argument(
        "--to", dest="end", type=second, metavar="SECONDS", help="last simulated time (the end)"
    )
    parser.add_argument(
        "--rate",
        type=number_type("rate", 1.0, _FASTEST, unit="Hz"),
        default=_RATE,
        metavar="HZ",
        help=f"key frames per second ({_RATE:g})",
    )
    vehicles: Any = parser.add_argument(
        "--vehicles",
        metavar="NAMES",
        default="",
        help="only these vehicles, separated by commas (all)",
    )
    vehicles.completer = _complete_vehicles
    for name, what in (
        ("paths", "the path of each vehicle is drawn"),
        ("cameras", "those of the vehicles are there, and one of the whole flight"),
    ):
        parser.add_argument(
            f"--{name}",
            type=truth_type(name),
            default=True,
            metavar="true|false",
            help=f"whether {what} (true)",
        )
    add_file_options(parser)
    parser.set_defaults(run=_export)


def _complete_file(prefix: str = "", **_: object) -> list[str]:
    from argcomplete.completers import FilesCompleter

    return FilesCompleter([suffix[1:] for suffix in SUFFIXES])(prefix)


def _complete_vehicles(parsed_args: argparse.Namespace, prefix: str = "", **_: object) -> list[str]:
    """Returns names of a run's vehicles, behind those that are given already."""
    from xtdrone_core import Scenario

    scenario = Scenario.load(run_folder.find(parsed_args.source) / "scenario.yaml")
    given = prefix.rpartition(",")[0]
    return [f"{given},{spec.name}".lstrip(",") for spec in scenario.vehicles]


def _export(args: argparse.Namespace) -> int:
    from xtdrone_core.runs import interpolation

    from ..errors import WebError
    from ..replay import sources
    from .glb import FlightGlb
    from .motion import sampled
    from .stage import fill
    from .usd import FlightUsd

    path = _free_for(args.out)
    recording = sources.read(args.source, args.vehicle, args.world)
    chosen = _chosen(args.vehicles, recording.names)
    span = interpolation.span(args.begin, args.end, recording.start_s, recording.end_s, WebError)
    motion = sampled(recording, chosen, *span, args.rate)
    make: Any = FlightGlb if path.suffix.lower() == ".glb" else FlightUsd
    stage = make(recording.name, motion)
    fill(stage, recording, chosen, motion, args.paths, args.cameras)
    try:
        stage.write(path)
    except OSError as error:
        raise outputs.cannot_write(path, error, WebError) from error
    print(
        f"{path}: {path.stat().st_size / 1e6:.2f} MB, {len(chosen)} "
        f"vehicle{'s' * (len(chosen) > 1)}, {motion.t_s[-1]:.2f} s, {len(motion.t_s)} key frames"
    )
    return 0


def _free_for(given: str) -> Path:
    """Returns the path that is written.

    Raises:
        WebError: Its name says no format, the format's package is missing, or something is there.
    """
    from ..errors import WebError
    from . import usd

    path = Path(given).expanduser()
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise WebError(
            f"cannot write '{shown(given)}': give a name that ends in {', '.join(SUFFIXES)}"
        )
    if suffix == ".glb":
        return outputs.free_for(path, "glTF file", lambda ends: _GLB in ends, WebError)
    usd.modules()
    return outputs.free_for(path, "USD file", lambda _: usd.ours(path), WebError)


def _chosen(words: str, names: Sequence[str]) -> list[int]:
    from ..errors import WebError

    given = [word.strip() for word in words.split(",") if word.strip()]
    for name in given:
        if name not in names:
            raise WebError(unknown_name("vehicle", name, names))
    return [i for i, name in enumerate(names) if not given or name in given]
