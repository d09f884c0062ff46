"""What perception costs and reaches: images of data sets, the project's detector, following.

    python benchmarks/bench_perception.py [--flights 5]

Times are of the processor. Flights follow a person at 2 m/s past a wall that hides it for 2 s.
"""

import argparse
import contextlib
import io
import tempfile
import time
from pathlib import Path

import numpy as np
import results
from PIL import Image

import xtdrone as xd
from xtdrone_perception.dataset.options import Options
from xtdrone_perception.dataset.shooting import Task, take
from xtdrone_perception.detection.detector import OWN, Detector
from xtdrone_perception.tracking.agent import FollowAgent

WORLD = """<sdf version="1.7"><world name="wall">
<model name="ground_plane"><static>1</static><link name="link">
<collision name="c"><geometry><plane><normal>0 0 1</normal><size>200 200</size></plane></geometry>
</collision></link></model>
<model name="wall"><static>1</static><pose>22 -2 2.5 0 0 0</pose><link name="link">
<collision name="c"><geometry><box><size>4 0.2 5</size></box></geometry></collision>
</link></model>
<actor name="ann"><xtdrone:figure xmlns:xtdrone="urn:xtdrone">person</xtdrone:figure>
<script><loop>0</loop><delay_start>10</delay_start><trajectory id="0" type="walking">
<waypoint><time>0</time><pose>0 0 0 0 0 0</pose></waypoint>
<waypoint><time>40</time><pose>80 0 0 0 0 0</pose></waypoint></trajectory></script></actor>
</world></sdf>"""


def images(folder: Path, work: results.Work) -> list:
    """Rows of the processor time of an image."""
    rows = []
    for rendering, outputs in (("plain", ("masks", "depth", "flow")), ("plain", ()),
                               ("realistic", ())):  # fmt: skip
        options = Options(images=20, rendering=rendering, outputs=outputs)
        out = folder / f"{rendering}{len(outputs)}"
        take(Task(out, options, 0))
        before = len(drawn(out))
        seconds = take(Task(out, options, 1))
        count = len(drawn(out)) - before
        work.count("images drawn", count, 1)
        what = ", ".join(("boxes", *outputs))
        print(f"image 640 x 480, {rendering}, with {what}: {1e3 * seconds / count:.0f} ms")
        rows.append(({"image": rendering, "with": what}, round(1e3 * seconds / count, 1), "ms"))
    return rows


def drawn(folder: Path) -> list[Path]:
    """The images of a data set."""
    return sorted((folder / "images").rglob("*.jpg"))


def detector(folder: Path, work: results.Work) -> list:
    """A row of the processor time of the project's detector, on images of a data set."""
    if not OWN.is_file():
        return []
    found = Detector()
    pictures = [np.asarray(Image.open(path)) for path in drawn(folder)]
    found(pictures[0])
    began = time.process_time()
    boxes = [found(picture)[0] for picture in pictures]
    spent = 1e3 * (time.process_time() - began) / len(pictures)
    work.count("objects detected", sum(map(len, boxes)), 1)
    print(f"detector, 640 x 480: {spent:.0f} ms")
    return [({"detector": "own"}, round(spent, 1), "ms")]


def flights(folder: Path, count: int, work: results.Work) -> list:
    """Rows of the errors of flights with other seeds, whose losses are printed."""
    path = folder / "wall.world"
    path.write_text(WORLD)
    print(f"{'seed':>4}{'distance [m]':>14}{'place [m]':>11}{'losses':>8}")
    rows = []
    for seed in range(count):
        agent = FollowAgent(duration=18.0)
        scenario = xd.Scenario(
            vehicles="typhoon_h480@0,-9", world=str(path), seed=seed, gps="rtk", speed=0
        )
        with xd.Simulation(scenario, agent=agent) as simulation:
            simulation.run()
        errors = agent.errors()
        work.count("seconds followed", errors.get("follow_s", 0.0), 1)
        print(f"{seed:4}{errors['follow_distance_error_m']:14.2f}"
              f"{errors['follow_place_error_m']:11.2f}{errors['follow_losses']:8}")  # fmt: skip
        rows.append(({"follow": "distance", "seed": seed}, errors["follow_distance_error_m"], "m"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=5, metavar="N")
    count = parser.parse_args().flights
    work = results.Work()
    with tempfile.TemporaryDirectory() as text, contextlib.redirect_stderr(io.StringIO()):
        folder = Path(text)
        rows = images(folder, work)
        rows += detector(folder / "plain0", work)
        rows += flights(folder, count, work)
    results.replace("perception", rows, work)


if __name__ == "__main__":
    main()
