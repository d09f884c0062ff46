"""`xtdrone perception evaluate`: a detector on a data set, by COCO's code, or its tracks."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from xtdrone_core.command import Subparsers

from ..errors import PerceptionError

if TYPE_CHECKING:
    from ..detection.limits import Limits

EXAMPLES = """examples:
  xtdrone perception evaluate runs/street_images --detector runs/mine.onnx --split test
  xtdrone perception evaluate runs/street_images --detector yolo11n.onnx --threshold 0.3
  xtdrone perception evaluate runs/street_images --tracks
"""


def register(actions: Subparsers) -> None:
    """Adds the action."""
    parser = actions.add_parser(
        "evaluate", help="recall, precision and mean precision of a detector", epilog=EXAMPLES
    )
    parser.add_argument("data", metavar="DIR", help="data set")
    parser.add_argument("--detector", metavar="FILE", help="NAME.onnx [the project's own]")
    parser.add_argument(
        "--tracks", action="store_true", help="HOTA, IDF1 and MOTA of ByteTrack on its boxes"
    )
    parser.add_argument("--split", default="test", help="train, val or test [test]")
    parser.add_argument("--threshold", type=float, metavar="SCORE", help="[the detector's own]")
    parser.add_argument(
        "--smallest", type=int, default=25, metavar="PIXELS",
        help="height from which boxes count; others may be found or not [25]",
    )  # fmt: skip
    parser.add_argument(
        "--visible", type=float, default=0.5, metavar="SHARE", help="from which they count [0.5]"
    )
    parser.add_argument(
        "--truncated", type=float, default=0.3, metavar="SHARE",
        help="beyond the edges of the image, up to which they count [0.3]",
    )  # fmt: skip
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from ..dataset.options import SPLITS
    from ..detection.description import describe
    from ..detection.detector import OWN
    from ..detection.evaluation import evaluate, lines, opened

    if args.split not in SPLITS:
        raise PerceptionError(f"--split {args.split}: give one of {', '.join(SPLITS)}")
    if args.tracks:
        return _evaluate_tracks(args)
    threshold = args.threshold
    if threshold is None:
        threshold = describe(Path(args.detector or OWN).expanduser(), {}).threshold
    with tqdm(desc="images", unit="image", disable=None) as bar:
        scores = evaluate(
            opened(args.detector),
            Path(args.data).expanduser(),
            args.split,
            threshold,
            _limits(args),
            bar.update,
        )
    print(*lines(scores, threshold), sep="\n")
    return 0


def _limits(args: argparse.Namespace) -> "Limits":
    from ..detection.limits import Limits

    return Limits(args.smallest, args.visible, args.truncated)


def _evaluate_tracks(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    from ..detection.detector import OWN, Detector
    from ..tracking.evaluation import IDEAL, evaluate_tracks, lines

    changes = {} if args.threshold is None else {"threshold": args.threshold}
    detector = None if args.detector == IDEAL else Detector(args.detector or OWN, **changes)
    with tqdm(desc="images", unit="image", disable=None) as bar:
        scores = evaluate_tracks(
            detector, Path(args.data).expanduser(), args.split, _limits(args), bar.update
        )
    print(*lines(scores), sep="\n")
    return 0
