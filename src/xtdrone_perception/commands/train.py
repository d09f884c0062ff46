"""`xtdrone perception train`: a small detector from a data set, in minutes."""

import argparse
from pathlib import Path

from xtdrone_core import extras
from xtdrone_core.command import Subparsers

from ..errors import PerceptionError

EXAMPLES = """examples:
  xtdrone perception train runs/street_images --minutes 10 --out runs/mine.onnx
  xtdrone perception train runs/more_images --begin runs/mine.onnx --out runs/better.onnx
"""


def register(actions: Subparsers) -> None:
    """Adds the action."""
    parser = actions.add_parser(
        "train", help="train a small detector on data sets, and write it as ONNX", epilog=EXAMPLES
    )
    parser.add_argument("data", metavar="DIR", nargs="+", help="data sets of the same classes")
    parser.add_argument("--out", metavar="FILE", required=True, help="NAME.onnx")
    parser.add_argument(
        "--minutes", type=float, default=10.0, metavar="N",
        help="of processor time; by a graphics card, of time [10]",
    )  # fmt: skip
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="what computes: cpu or cuda [cpu]"
    )
    parser.add_argument(
        "--begin", metavar="FILE", help="NAME.onnx of an earlier training, which goes on"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument(
        "--size", default="640x480", metavar="WxH", help="of its images, multiples of 32 [640x480]"
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    for module in ("torch", "onnx"):
        extras.require(module, "training", "learn", PerceptionError)
    from tqdm import tqdm

    from ..detection.training import Plan, Step, train

    width, _, height = args.size.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise PerceptionError(f"--size {args.size}: give width and height, as in 640x480")
    if not 0.0 < args.minutes <= 10_000.0:
        raise PerceptionError(f"--minutes {args.minutes:g}: give a number above 0")
    out = Path(args.out).expanduser()
    if out.suffix != ".onnx" or not out.parent.is_dir():
        raise PerceptionError(f"--out {args.out}: give NAME.onnx in a folder that is there")
    begin = Path(args.begin).expanduser() if args.begin else None
    if begin is not None and not begin.is_file():
        raise PerceptionError(f"--begin {args.begin}: there is no such file")
    seconds = 60.0 * args.minutes
    plan = Plan(
        tuple(Path(folder).expanduser() for folder in args.data),
        seconds,
        args.seed,
        (int(width), int(height)),
        begin,
        args.device,
    )
    with tqdm(total=round(seconds), desc="training", unit="s", disable=None) as bar:

        def watch(step: Step) -> None:
            bar.update(min(round(step.seconds), round(seconds)) - bar.n)
            held = "" if step.held_out is None else f", held out {step.held_out:.2f}"
            bar.set_postfix_str(f"{step.images} crops, loss {step.loss:.2f}{held}", refresh=False)

        step = train(plan, out, watch)
    of = "processor time" if args.device == "cpu" else "a graphics card"
    held = "" if step.held_out is None else f", loss on the validation split {step.held_out:.3f}"
    print(f"{out}: {step.images} crops in {step.seconds:.0f} s of {of}, loss {step.loss:.3f}{held}")
    return 0
