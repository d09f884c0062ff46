"""The action `xtdrone perception rates`: how often a marker is found, as a figure."""

import argparse
from pathlib import Path

from xtdrone_core.command import Subparsers
from xtdrone_core.scenario.options import number_type

EXAMPLES = """examples:
  xtdrone perception rates --family tag36h11 --size 0.4 --out rates.png
  xtdrone perception rates --library apriltag --images 40 --out rates.png
"""


def register(actions: Subparsers) -> None:
    """Adds the action."""
    parser = actions.add_parser(
        "rates",
        help="how often a marker is found: by distance, angle, light and blur",
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("--family", default="tag36h11", help="(tag36h11)")
    add("--id", type=number_type("id", 0, 1e6, whole=True), default=0, help="(0)")
    add(
        "--size",
        type=number_type("size", 0.005, 100.0, unit="m"),
        default=0.4,
        help="side of the black square [m] (0.4)",
    )
    add("--library", default="opencv", help="opencv, apriltag, or both (opencv)")
    add(
        "--images",
        type=number_type("images", 1, 100_000, whole=True),
        default=20,
        help="for each condition, a quarter for each light (20)",
    )
    add("--width", type=number_type("width", 16, 4096, whole=True), default=640, help="(640)")
    add("--height", type=number_type("height", 16, 4096, whole=True), default=480, help="(480)")
    add(
        "--fov",
        type=number_type("fov", 1.0, 170.0, unit="deg"),
        default=80.0,
        help="horizontal [deg] (80)",
    )
    add("--out", required=True, metavar="FILE", help="picture")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    import math

    from tqdm import tqdm

    from xtdrone_core import outputs, plot_style

    from ..errors import PerceptionError
    from ..markers import detect, rates
    from ..markers.families import Marker

    path = outputs.picture(args.out, PerceptionError)
    marker = Marker(args.family, args.id, args.size)
    camera = rates.Camera.of(args.width, args.height, math.radians(args.fov))
    libraries = [name.strip() for name in args.library.split(",")]
    for library in libraries:
        detect.make_detector(args.family, library)
    with tqdm(total=rates.conditions() * len(libraries), unit="condition", disable=None) as bar:
        found = {
            library: rates.measure(marker, camera, library, args.images, bar.update)
            for library in libraries
        }
    print(*rates.lines(found), sep="\n")
    print(plot_style.save(rates.draw(found, marker), Path(path)))
