"""Subcommand view: a flight in 3D, in a window or as a film."""

import argparse
import math
import re

from xtdrone_core.command import Subparsers
from xtdrone_core.errors import unknown_name
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type, truth_type
from xtdrone_core.windows import display

from .camera_kinds import CAMERAS

EXAMPLES = """examples:
  xtdrone view                                  the newest run in a window
  xtdrone view formation-2 --speed 4 --camera orbit
  xtdrone view latest --mp4 flight.mp4          a film, without a display
  xtdrone view latest --gif flight.gif --from 8 --to 40 --speed 4 --size 640x360
  xtdrone view latest --png flight.png --from 20 --camera follow --vehicle iris_2

In the window: drag to turn, wheel for the distance, H for the keys. 'xtdrone formation view' draws
slots and who hears whom, and no world.
"""
SIZE, WINDOW = (1280, 720), (1100, 680)  # film and window [pixels]
_GIF_SIZE, _FPS, _GIF_FPS = (640, 360), 30.0, 12.5
_MIN, _MAX = 64, 4096  # side of an image [pixels]


def register_view(subparsers: Subparsers) -> None:
    """Registers `xtdrone view`, which replays a run in its world."""
    parser = subparsers.add_parser(
        "view", help="replay a run in 3D, in a window or as a film", epilog=EXAMPLES
    )
    run_folder.add_argument(parser)
    output = parser.add_mutually_exclusive_group()
    for suffix, what in (
        ("mp4", "write a film (H.264) and open no window"),
        ("gif", "the same as an animated GIF"),
        ("png", "the picture at --from"),
    ):
        output.add_argument(f"--{suffix}", metavar="FILE", help=what)
    second = number_type("time", 0.0, 1e9, unit="s")
    parser.add_argument(
        "--from",
        dest="begin",
        type=second,
        metavar="SECONDS",
        help="first simulated time (the start of the run)",
    )
    parser.add_argument(
        "--to",
        dest="end",
        type=second,
        metavar="SECONDS",
        help="last simulated time (the end of the run)",
    )
    parser.add_argument(
        "--speed",
        type=number_type("speed", 0.01, 100.0),
        default=1.0,
        metavar="FACTOR",
        help="simulated seconds per second (1)",
    )
    parser.add_argument(
        "--camera",
        choices=list(CAMERAS),
        default="fleet",
        help="; ".join(f"{name}: {what}" for name, what in CAMERAS.items()) + " (fleet)",
    )
    parser.add_argument(
        "--vehicle", metavar="NAME", help="whom the camera follows (the first vehicle)"
    )
    parser.add_argument(
        "--turn",
        type=number_type("turn", -360.0, 360.0, unit="deg"),
        default=0.0,
        metavar="DEG",
        help="angle of the camera about the fleet (0)",
    )
    parser.add_argument(
        "--rise",
        type=number_type("rise", -90.0, 90.0, unit="deg"),
        default=0.0,
        metavar="DEG",
        help="how much higher the camera is (0)",
    )
    parser.add_argument(
        "--zoom",
        type=number_type("zoom", 0.1, 10.0),
        default=1.0,
        metavar="FACTOR",
        help="factor of the camera's distance (1)",
    )
    parser.add_argument(
        "--size",
        type=_size,
        metavar="WxH",
        help="of the film, {}x{}; of a GIF, {}x{}".format(*SIZE, *_GIF_SIZE),
    )
    parser.add_argument(
        "--fps",
        type=number_type("fps", 1.0, 120.0),
        metavar="N",
        help=f"images per second of the film, {_FPS:g}; of a GIF, {_GIF_FPS:g}",
    )
    for name in ("names", "trails"):
        parser.add_argument(
            f"--{name}",
            type=truth_type(name),
            default=True,
            metavar="true|false",
            help=f"whether {name} are drawn (true)",
        )
    parser.set_defaults(run=_view)


def _size(text: str) -> tuple[int, ...]:
    match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text, re.ASCII)
    sides = [int(side) for side in match.groups()] if match else []
    if not sides or not all(_MIN <= side <= _MAX and side % 2 == 0 for side in sides):
        raise argparse.ArgumentTypeError(
            f"size '{text}' is not allowed: give width x height in "
            f"even pixels from {_MIN} to {_MAX}, as 1280x720"
        )
    return tuple(sides)


def _view(args: argparse.Namespace) -> int:
    from xtdrone_core.runs import interpolation

    from ..errors import ViewError
    from . import film
    from .cameras import Camera
    from .flights import Replay
    from .stage import Stage

    given = args.mp4 or args.gif or args.png
    path = None
    if given is not None:
        path = film.free_for(given)
        suffix = "." + next(name for name in ("mp4", "gif", "png") if getattr(args, name))
        if path.suffix.lower() != suffix:
            raise ViewError(f"'{given}' is not the name of such a file: let it end in {suffix}")
    else:
        display.require(ViewError, "give --mp4, --gif or --png FILE, or set DISPLAY")
    flight = Replay(run_folder.find(args.of_run))
    begin, end = interpolation.span(args.begin, args.end, flight.start_s, flight.end_s, ViewError)
    if args.vehicle is not None and args.vehicle not in flight.names:
        raise ViewError(unknown_name("vehicle", args.vehicle, flight.names))
    vehicle = 0 if args.vehicle is None else flight.names.index(args.vehicle)
    camera = Camera(
        args.camera, vehicle, math.radians(args.turn), math.radians(args.rise), args.zoom
    )
    gif = args.gif is not None
    size = args.size or (_GIF_SIZE if gif else SIZE if given else WINDOW)
    if path is None:
        from .window import watch

        return watch(
            flight, camera, size, args.speed, begin, end, names=args.names, trails=args.trails
        )
    fps = args.fps or (_GIF_FPS if gif else _FPS)
    if args.png:
        end = begin
    film.check_length(path, film.image_count(begin, end, args.speed, fps), size)
    stage = Stage(flight, camera, size)
    stage.names, stage.trails = args.names, args.trails
    try:
        film.write(path, film.images(stage, begin, end, args.speed, fps, size), fps, stage.colours)
    finally:
        stage.close()
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0
