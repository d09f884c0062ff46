"""`xtdrone perception detect`: what a detector finds in pictures."""

import argparse
import json
from pathlib import Path

from xtdrone_core.command import Subparsers
from xtdrone_core.errors import shown

from ..errors import PerceptionError

EXAMPLES = """examples:
  xtdrone perception detect photo.jpg --detector mine.onnx --draw found.png
  xtdrone perception detect photo.jpg --detector yolo11n.onnx --json
"""


def register(actions: Subparsers) -> None:
    """Adds the action."""
    parser = actions.add_parser(
        "detect", help="what a detector finds in a picture", epilog=EXAMPLES
    )
    parser.add_argument("picture", metavar="FILE")
    parser.add_argument("--detector", metavar="FILE", help="NAME.onnx")
    parser.add_argument("--threshold", type=float, metavar="SCORE", help="[the detector's own]")
    parser.add_argument("--draw", metavar="FILE", help="write the picture with boxes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    import numpy as np
    from PIL import Image, ImageDraw

    from ..detection.detector import OWN, Detector

    changes = {} if args.threshold is None else {"threshold": args.threshold}
    detector = Detector(args.detector or OWN, **changes)
    try:
        image = Image.open(args.picture).convert("RGB")
    except Exception as error:  # damaged bytes raise any of them in Pillow
        raise PerceptionError(f"cannot read the picture '{shown(args.picture)}'") from error
    found = detector(np.asarray(image))
    rows = [
        {
            "class": detector.name_of(int(index)),
            "score": round(float(score), 3),
            "box": np.round(box, 1).tolist(),
        }
        for box, score, index in zip(*found)
    ]
    if args.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(f"{row['class']:12}{row['score']:6.2f}  {row['box']}")
    if args.draw:
        draw = ImageDraw.Draw(image)
        for row in rows:
            draw.rectangle(row["box"], outline="#ff3b30", width=2)
            draw.text((row["box"][0] + 2, row["box"][1] + 2), str(row["class"]), fill="#ff3b30")
        image.save(Path(args.draw).expanduser())
    return 0
