"""A system under test that knows the truth, and a short recording for it."""

from pathlib import Path

import yaml

from slam_wall import stereo, wall
from xtdrone_slam.benchmark import plan as plans
from xtdrone_slam.datasets.dataset import DatasetWriter

# A system that tells the truth, with an error by a parameter, and can be made to fail.
_SYSTEM = """
import argparse, sys
from xtdrone_slam.benchmark import link
from xtdrone_slam.datasets import trajectory_file
parser = argparse.ArgumentParser()
parser.add_argument("dataset")
parser.add_argument("--error", type=float)
parser.add_argument("--end", type=int)
args = parser.parse_args()
rows = trajectory_file.read(args.dataset + "/groundtruth.tum")
for i, (t, a, b) in enumerate(link.frames(sys.stdin.buffer, (240, 320))):
    if i == args.end:
        sys.exit(5)
    x, y, z = rows[i, 1:4]
    print(link.pose_line(t, (x, y + args.error * (-1) ** i, z), rows[i, 4:], 10 * i), flush=True)
"""


def write_adapter(folder: Path) -> Path:
    """Writes the system; returns its folder."""
    folder.mkdir(parents=True)
    (folder / "system.py").write_text(_SYSTEM)
    (folder / "adapter.yaml").write_text(
        yaml.safe_dump(
            {
                "description": "tells the truth",
                "deterministic": True,
                "command": ["{python}", str(folder / "system.py"), "{dataset}"],
                "parameters": {"error": 0.0, "end": -1},
            }
        )
    )
    return folder


def write_hall(folder: Path) -> Path:
    """Writes a recording long enough for half metres of path; returns its folder."""
    writer = DatasetWriter(folder, stereo())
    image = wall((0, 0, 0))
    for i in range(16):
        writer.truth(
            80_000 * (i + 1),
            (0.2 * i, 0.02 * i * i, 1.0 + 0.3 * (i % 5)),
            (0, 0, 0, 1),
            (2.5, 0, 0),
        )
        writer.images(80_000 * (i + 1), *image)
    writer.close()
    return folder


def plan(fake: Path, long: Path, **more) -> plans.Campaign:
    """Two runs each, exact and 10 cm off."""
    return plans.parse(
        {
            "systems": [{"name": str(fake), "parameters": {"error": [0.0, 0.1]}}],
            "datasets": [str(long)],
            "runs": 2,
            "speed": 0,
            **more,
        },
        "test",
    )
