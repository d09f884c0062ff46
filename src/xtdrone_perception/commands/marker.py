"""The action `xtdrone perception marker`: pictures and models of markers."""

import argparse
from pathlib import Path

from xtdrone_core.command import Subparsers
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type

EXAMPLES = """examples:
  xtdrone perception marker --family tag36h11 --id 3 --size 0.6 --out runs/markers
  xtdrone perception marker --id 0 --nested 5,7 --size 1 --on box
  xtdrone perception marker --id 4 --size 0.5 --on boat --at 0,0,1.33

Put the folder of --out on GAZEBO_MODEL_PATH, so that worlds find a model as model://NAME.
"""


def register(actions: Subparsers) -> None:
    """Adds the action."""
    parser = actions.add_parser(
        "marker",
        help="print an AprilTag or ArUco marker as PNG, PDF and SDF model",
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("--family", default="tag36h11", help="tag36h11, DICT_4X4_50 ... (tag36h11)")
    add("--id", type=number_type("id", 0, 1e6, whole=True), default=0, help="(0)")
    add(
        "--nested",
        type=_numbers,
        default=(),
        metavar="ID,...",
        help="smaller markers in its middle, each in the one before",
    )
    add(
        "--size",
        type=number_type("size", 0.005, 100.0, unit="m"),
        default=0.6,
        help="side of the black square [m] (0.6)",
    )
    add(
        "--on",
        default="pad",
        help="pad, box, wall, parcel (a loose box), or a vehicle's name (pad)",
    )
    add(
        "--at",
        type=_place,
        default=(0.0, 0.0, 0.0),
        metavar="X,Y,Z",
        help="of its middle on a vehicle, from the model's origin [m]",
    )
    add("--name", default="", help="of the model")
    add("--out", metavar="FOLDER", help="(markers, in the folder of runs)")
    parser.set_defaults(run=_run)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no list of markers: give numbers such as 5,7"
        ) from None


def _place(text: str) -> tuple[float, float, float]:
    try:
        x, y, z = (float(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no place: give three numbers such as 0,0,1.3"
        ) from None
    return x, y, z


def _run(args: argparse.Namespace) -> None:
    from ..markers import detect, model, picture
    from ..markers.families import Marker

    markers = picture.nest(Marker(args.family, args.id, args.size), args.nested)
    detect.check_nested(markers)
    out = Path(args.out) if args.out else run_folder.runs_root() / "markers"
    folder = model.write(markers, model.Place(args.on, args.at), out, args.name)
    for marker in markers:
        print(f"{marker.family} {marker.id}: {marker.size:.4g} m")
    print(folder)
