"""What perception costs and reaches: images of data sets, the project's detector, following.

    python benchmarks/bench_perception.py [--only images detector walls crossing car gates chase]
                                          [--detector own] [--seeds 1]

Times are of the processor. In two flights past walls a person at 2 m/s is hidden ten times for 2 s;
three people cross in one place; a car drives and turns; three gates of a track are flown through,
and another vehicle is followed. Rows are printed beside their bounds.
"""

import argparse
import contextlib
import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import results
from PIL import Image

import xtdrone as xd
from xtdrone_core.racing.track import read_track
from xtdrone_perception.dataset.options import Options
from xtdrone_perception.dataset.shooting import Task, take
from xtdrone_perception.detection.detector import OWN, Detector
from xtdrone_perception.servoing.agent import OpeningsAgent
from xtdrone_perception.servoing.chase import ChaseAgent
from xtdrone_perception.tracking.agent import FollowAgent

CORES = 2
PARTS = ("images", "detector", "walls", "crossing", "car", "gates", "chase")
WORLD = """<sdf version="1.7"><world name="meeting">
<include><uri>model://ground_plane</uri></include><include><uri>model://sun</uri></include>
{}</world></sdf>"""
WALL = """<model name="wall_{0}"><static>1</static><pose>{1} -2 2.5 0 0 0</pose><link name="link">
<collision name="c"><geometry><box><size>4 0.2 5</size></box></geometry></collision>
<visual name="v"><geometry><box><size>4 0.2 5</size></box></geometry><material>
<diffuse>0.6 0.55 0.5 1</diffuse></material></visual></link></model>"""
ACTOR = """<actor name="{0}"><xtdrone:figure xmlns:xtdrone="urn:xtdrone">{1}</xtdrone:figure>
<script><loop>0</loop><delay_start>14</delay_start><trajectory id="0" type="walking">{2}
</trajectory></script></actor>"""
POINT = "<waypoint><time>{0}</time><pose>{1} {2} 0 0 0 {3}</pose></waypoint>"
SPEED = 2.0  # of people [m/s]
WALLS = 10
APART = 14.0  # from one wall to the next [m]
IN_VIEW = 1.5  # a person is found again where the filter's place is so near [m]
AGAIN = 0.95  # of the times, at least
AGAIN_S = 2.0  # and for so long after a wall it is looked for [s]
TURN = 6.0  # radius of a car's turns [m]
ARC = np.linspace(0.0, 0.5 * np.pi, 7)
BOUND = 1.5  # of the mean error of the distance [m]
CAR_SPEEDS = (2.0, 4.0)  # [m/s]; the bound is of the first
TRACK = """laps: 1
gates:
  - {pos: [8.0, 1.0, 2.2], yaw: 0.0, size: 1.8}
  - {pos: [15.0, -1.5, 2.6], yaw: -0.3, size: 1.8}
  - {pos: [22.0, -2.0, 2.0], yaw: 0.2, size: 1.8}
"""


def walk(name: str, *points: tuple, kind: str = "person") -> str:
    """An actor's SDF: points of time [s], east, north [m] and heading [rad]."""
    return ACTOR.format(name, kind, "".join(POINT.format(*point) for point in points))


def walls_world() -> str:
    """A person who walks east past walls that hide it from the south."""
    middles = [24.0 + APART * k for k in range(WALLS)]
    end = middles[-1] + 20.0
    person = walk("ann", (0, 0, 0, 0), (end / SPEED, end, 0, 0))
    return WORLD.format(
        person + "".join(WALL.format(k, middle) for k, middle in enumerate(middles))
    )


def crossing_world() -> str:
    """Three people who are in one place at one time."""
    rows = []
    for k, angle in enumerate((0.0, 2.1, 4.2)):
        x, y = 12.0 * np.cos(angle), 12.0 * np.sin(angle)
        heading = angle + np.pi
        rows.append(walk(f"person_{k}", (0, x, y, heading), (12.0 / 0.7, -x, -y, heading)))
    return WORLD.format("".join(rows))


def car_world(speed: float) -> str:
    """A car that drives east, turns north, and turns west, at a speed [m/s]."""
    corners = [(6.0, 0.0), (44.0, 0.0), (44.0, 40.0), (10.0, 40.0)]
    way = [corners[0]]
    for before, at, after in zip(corners, corners[1:], corners[2:]):
        ahead, aside = (np.sign(np.subtract(at, before)), np.sign(np.subtract(after, at)))
        middle = np.array(at) + TURN * (aside - ahead)
        way += [tuple(middle + TURN * (np.sin(a) * ahead - np.cos(a) * aside)) for a in ARC]
    way.append(corners[-1])
    steps = np.diff(way, axis=0)
    times = np.append(0.0, np.cumsum(np.hypot(*steps.T))) / speed
    headings = np.unwrap([0.0, *np.arctan2(*steps[1:].T[::-1]), np.pi])
    return WORLD.format(
        walk("car", *[(t, *at, yaw) for t, at, yaw in zip(times, way, headings)], kind="car")
    )


def images(folder: Path, work: results.Work) -> list:
    """Rows of the processor time of an image."""
    rows = []
    for rendering, outputs in (
        ("plain", ("masks", "depth", "flow")),
        ("plain", ()),
        ("realistic", ()),
    ):
        options = Options(images=20, rendering=rendering, outputs=outputs)
        out = folder / f"{rendering}{len(outputs)}"
        take(Task(out, options, 0))
        before = len(drawn(out))
        seconds = take(Task(out, options, 1))
        count = len(drawn(out)) - before
        work.count("images drawn", count, 1)
        what = ", ".join(("boxes", *outputs))
        each = seconds / count
        print(
            f"image 640 x 480, {rendering}, with {what}: {1e3 * each:.0f} ms, "
            f"{60.0 * CORES / each:.0f} a minute on {CORES} cores"
        )
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


def followed(
    folder: Path,
    name: str,
    world: str,
    start: str,
    arguments: argparse.Namespace,
    work: results.Work,
    **options: Any,  # those of FollowAgent
) -> Iterator[tuple[dict[str, Any], FollowAgent]]:
    """Labels of a row and the Agent after a flight in a world, for each seed."""
    path = folder / f"{name}.world"
    path.write_text(world)
    for seed in range(arguments.seeds):
        agent = FollowAgent(detector=arguments.detector, **options)
        scenario = xd.Scenario(vehicles=start, world=str(path), seed=seed, gps="rtk", speed=0)
        with xd.Simulation(scenario, agent=agent) as simulation:
            simulation.run()
        work.count("seconds followed", agent.errors().get("follow_s", 0.0), 1)
        yield {"follow": name, "detector": arguments.detector, "seed": seed}, agent


def walls(folder: Path, arguments: argparse.Namespace, work: results.Work) -> list:
    """Rows of the error and of the people who were found again behind walls."""
    long = {"duration": 14.0 + 0.5 * APART * WALLS}
    start = "typhoon_h480@0,-9"
    rows, total = [], 0
    twice = argparse.Namespace(**(vars(arguments) | {"seeds": max(arguments.seeds, 2)}))
    for labels, agent in followed(folder, "walls", walls_world(), start, twice, work, **long):
        errors, record = agent.errors(), agent.record
        ends = [14.0 + (26.0 + APART * k) / SPEED for k in range(WALLS)]
        found = sum(
            bool((record[(record[:, 0] > end) & (record[:, 0] < end + AGAIN_S), 2] < IN_VIEW).any())
            for end in ends
        )
        total += found
        print(
            f"walls, {arguments.detector}: distance {errors['follow_distance_error_m']:.2f} m "
            f"(bound {BOUND}), place {errors['follow_place_error_m']:.2f} m, found again behind "
            f"{found} of {WALLS}, lost {errors['follow_losses']} times"
        )
        rows += [
            (labels | {"is": "distance"}, errors["follow_distance_error_m"], "m"),
            (labels | {"is": "found again"}, found, f"of {WALLS}"),
        ]
    print(f"walls: found again {total} of {WALLS * twice.seeds} times (bound {AGAIN:.0%})")
    return rows


def crossing(folder: Path, arguments: argparse.Namespace, work: results.Work) -> list:
    """Rows of changes of identity among three people."""
    flights = followed(
        folder, "crossing", crossing_world(), "typhoon_h480@-4,-10", arguments, work, duration=36.0
    )
    rows = []
    for labels, agent in flights:
        errors = agent.errors()
        print(
            f"crossing, {arguments.detector}: {errors['follow_switches']} changes of identity "
            f"(bound 0), lost {errors['follow_losses']} times, distance "
            f"{errors['follow_distance_error_m']:.2f} m"
        )
        rows.append((labels, errors["follow_switches"], "changes"))
    return rows


def car(folder: Path, arguments: argparse.Namespace, work: results.Work) -> list:
    """Rows of the error behind a car that drives on and turns."""
    start = "typhoon_h480@0,-12"
    rows = []
    for speed in CAR_SPEEDS:
        behind = {"target": "car", "duration": 6.0 + 100.0 / speed, "distance": 12.0}
        flights = followed(folder, "car", car_world(speed), start, arguments, work, **behind)
        for labels, agent in flights:
            errors = agent.errors()
            bound = f" (bound {BOUND})" if speed <= SPEED else ""
            print(
                f"car at {speed:g} m/s, {arguments.detector}: distance "
                f"{errors['follow_distance_error_m']:.2f} m{bound}, place "
                f"{errors['follow_place_error_m']:.2f} m, lost {errors['follow_losses']} times"
            )
            row = labels | {"speed": speed}
            rows.append((row, errors["follow_distance_error_m"], "m"))
    return rows


def gates(folder: Path, arguments: argparse.Namespace, work: results.Work) -> list:
    """Rows of gates passed without a map, and how far from their middle."""
    path = folder / "gates.yaml"
    path.write_text(TRACK)
    track, rows = read_track(path), []
    for seed in range(arguments.seeds):
        agent, way = OpeningsAgent(count=len(track.gates)), Way()
        scenario = xd.Scenario(
            vehicles="typhoon_h480", track=str(path), seed=seed, gps="rtk", speed=0
        )
        with xd.Simulation(scenario, agent=agent, observers=[way]) as simulation:
            simulation.run()
        ((passed, wanted),) = agent.goals_reached().values()
        off = []
        for gate in track.gates:
            away = np.array(way.places) - gate.pos
            near = away[np.abs(away @ gate.axes()[0]) < 0.1]
            off.append(float(np.linalg.norm(near, axis=1).min()) if len(near) else np.inf)
        work.count("places", len(way.places), 1)
        print(
            f"gates: {passed} of {wanted} passed, {', '.join(f'{x:.2f}' for x in off)} m from "
            "the middle"
        )
        rows.append(({"servoing": "gates", "seed": seed}, passed, f"of {wanted}"))
    return rows


class Way(xd.Observer):
    """Keeps where the vehicle was."""

    period_us = 20_000

    def __init__(self):
        self.places = []

    def on_step(self, t_us, state, sensors):
        """Keeps the true place."""
        self.places.append(state.pos[0].copy())


def chase(folder: Path, arguments: argparse.Namespace, work: results.Work) -> list:
    """Rows of the error behind another vehicle."""
    rows = []
    for seed in range(arguments.seeds):
        agent = ChaseAgent(duration=30.0)
        scenario = xd.Scenario(vehicles="iris@6,0; typhoon_h480", seed=seed, gps="rtk", speed=0)
        with xd.Simulation(scenario, agent=agent) as simulation:
            simulation.run()
        errors = agent.errors()
        work.count("seconds chased", errors.get("chase_s", 0.0), 1)
        print(
            f"chase: distance {errors['chase_distance_error_m']:.2f} m, place "
            f"{errors['chase_place_error_m']:.2f} m, lost {errors['chase_losses']} times"
        )
        rows.append(({"servoing": "chase", "seed": seed}, errors["chase_distance_error_m"], "m"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART")
    parser.add_argument("--detector", default="ideal", help="of following: ideal, own, NAME.onnx")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="flights of each kind")
    arguments = parser.parse_args()
    work, rows = results.Work(), []
    with tempfile.TemporaryDirectory() as text, contextlib.redirect_stderr(io.StringIO()):
        folder = Path(text)
        if {"images", "detector"} & set(arguments.only):
            rows += images(folder, work)
        if "detector" in arguments.only:
            rows += detector(folder / "plain0", work)
        for part in (walls, crossing, car, gates, chase):
            if part.__name__ in arguments.only:
                rows += part(folder, arguments, work)
    results.replace("perception", rows, work)


if __name__ == "__main__":
    main()
