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


def images(folder: Path) -> None:
    """Processor time of an image."""
    for rendering, outputs in (("plain", ("masks", "depth", "flow")), ("plain", ()),
                               ("realistic", ())):  # fmt: skip
        options = Options(images=20, rendering=rendering, outputs=outputs)
        out = folder / f"{rendering}{len(outputs)}"
        take(Task(out, options, 0))
        seconds = take(Task(out, options, 1))
        what = ", ".join(("boxes", *outputs))
        print(f"image 640 x 480, {rendering}, with {what}: {1e3 * seconds / 10:.0f} ms")


def detector() -> None:
    """Processor time of the project's detector."""
    if not OWN.is_file():
        return
    found, image = Detector(), np.full((480, 640, 3), 90, dtype=np.uint8)
    found(image)
    began = time.process_time()
    for _ in range(10):
        found(image)
    print(f"detector, 640 x 480: {100.0 * (time.process_time() - began):.0f} ms")


def flights(folder: Path, count: int) -> None:
    """Errors and losses of flights with other seeds."""
    path = folder / "wall.world"
    path.write_text(WORLD)
    print(f"{'seed':>4}{'distance [m]':>14}{'place [m]':>11}{'losses':>8}")
    for seed in range(count):
        agent = FollowAgent(duration=18.0)
        scenario = xd.Scenario(
            vehicles="typhoon_h480@0,-9", world=str(path), seed=seed, gps="rtk", speed=0
        )
        with xd.Simulation(scenario, agent=agent) as simulation:
            simulation.run()
        errors = agent.errors()
        print(f"{seed:4}{errors['follow_distance_error_m']:14.2f}"
              f"{errors['follow_place_error_m']:11.2f}{errors['follow_losses']:8}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=5, metavar="N")
    count = parser.parse_args().flights
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        images(Path(folder))
        detector()
        flights(Path(folder), count)


if __name__ == "__main__":
    main()
