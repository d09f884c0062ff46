"""`xtdrone perception dataset`: images with labels from the simulator."""

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xtdrone_core.command import Subparsers

if TYPE_CHECKING:
    from ..dataset.options import Options

EXAMPLES = """examples:
  xtdrone perception dataset --world street --classes person,car --images 2000 --out street
  xtdrone perception dataset --rendering realistic --weather clear;fog=150 --images 200 --out foggy
"""


def register(actions: Subparsers) -> None:
    """Adds the action."""
    parser = actions.add_parser(
        "dataset",
        help="images with boxes, masks, depth, flow and poses, for detectors and trackers",
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "--out", metavar="DIR", required=True, help="folder; goes on if it is there"
    )
    parser.add_argument("--world", metavar="NAMES", help="worlds, by commas [street]")
    parser.add_argument("--classes", metavar="NAMES", help="of person, car, vehicle [all]")
    parser.add_argument("--images", type=int, metavar="N", help="number of images [1000]")
    parser.add_argument("--frames", type=int, metavar="N", help="images of one scene [10]")
    parser.add_argument("--rate", type=float, metavar="HZ", help="frames of a scene [5]")
    parser.add_argument("--seed", type=int, metavar="N", help="of all that is random [0]")
    parser.add_argument("--size", metavar="WxH", help="of an image [640x480]")
    parser.add_argument("--fov", type=float, metavar="DEG", help="horizontal field of view [70]")
    parser.add_argument("--lens", metavar="K1,K2,P1,P2,K3", help="distortion [none]")
    parser.add_argument("--noise", type=float, metavar="STD", help="of a pixel, full scale 1 [0]")
    parser.add_argument("--rendering", help="plain or realistic [plain]")
    parser.add_argument("--time_of_day", metavar="TIMES", help="realistic: 08:00,18:30 [random]")
    parser.add_argument("--weather", metavar="LIST", help="realistic: clear;fog=200 [random]")
    parser.add_argument("--vehicles", metavar="NAMES", help="what the class vehicle is made of")
    parser.add_argument("--outputs", metavar="NAMES", help="of masks, depth, flow; none [all]")
    parser.add_argument("--shares", metavar="A,B,C", help="of train, val, test [0.7,0.15,0.15]")
    parser.add_argument(
        "--as_is", action="store_true", help="looks and light as in the world's file"
    )
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="processes [all cores]")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from ..dataset.making import make

    options, folder = _options(args), Path(args.out).expanduser()
    with tqdm(total=options.images, desc="images", unit="image", disable=None) as bar:
        made = make(folder, options, args.workers, bar.update)
    print(f"{options.images} images of {options.scenes} scenes: {folder / 'index.html'}")
    if made.images:
        print(
            f"{made.images} taken now, {1e3 * made.processor_s / made.images:.0f} ms of processor "
            "time each"
        )
    return 0


def _options(args: argparse.Namespace) -> "Options":
    from ..dataset.options import Options
    from ..errors import PerceptionError

    given: dict[str, Any] = {  # of the types of the fields
        name: getattr(args, name)
        for name in ("images", "frames", "rate", "seed", "fov", "noise", "rendering")
        if getattr(args, name) is not None
    }
    lists = {"worlds": args.world, "classes": args.classes, "vehicles": args.vehicles}
    lists["times_of_day"] = args.time_of_day
    given |= {name: _names(words) for name, words in lists.items() if words is not None}
    if args.weather is not None:
        given["weathers"] = tuple(filter(None, args.weather.split(";")))
    if args.outputs is not None:
        given["outputs"] = () if args.outputs == "none" else _names(args.outputs)
    for name in ("lens", "shares"):
        if getattr(args, name) is not None:
            given[name] = _numbers(name, getattr(args, name))
    if args.size is not None:
        width, cross, height = args.size.partition("x")
        if not (cross and width.isdigit() and height.isdigit()):
            raise PerceptionError(f"--size {args.size}: give width and height, as in 640x480")
        given |= {"width": int(width), "height": int(height)}
    return dataclasses.replace(Options(randomise=not args.as_is), **given)


def _names(words: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in words.split(",") if word.strip())


def _numbers(name: str, words: str) -> tuple[float, ...]:
    from ..errors import PerceptionError

    try:
        return tuple(float(word) for word in words.split(","))
    except ValueError:
        raise PerceptionError(f"--{name} {words}: give numbers, by commas") from None
