"""Landings on markers, flown one by one: each leaves a line in a file, so that none is lost."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import xtdrone as xd
from xtdrone_dynamics.quaternion import rotate
from xtdrone_perception.landing.agent import MarkerLandingAgent
from xtdrone_perception.landing.deck_agent import MarkerDeckLandingAgent
from xtdrone_sim.vehicles.sdf import load_vehicle

PAD = np.array([6.0, 4.0, 0.02])  # of the world `landing`
FOUND_M = 1.5  # standard deviation of where the pad is said to be
PATH_US = 500_000  # between two places of a path that is kept
DECKS = {"rover_marker": (1.97, "10,11,12"), "boat_marker": (1.33, "20,21,22")}  # height [m], ids


@dataclass(frozen=True)
class Landing:
    """How one landing went."""

    row: str
    seed: int
    error: float  # horizontal distance of the vehicle from the middle of the marker [m]
    seconds: float  # of the whole flight, simulated
    seen: float  # share of the images with a marker
    end: tuple[float, float]  # where it ended, east and north of the middle [m]
    path: list[tuple[float, float]]  # distance from the middle and height above it [m]
    failed: str = ""  # why it did not end
    cost: float = 0.0  # processor time [s]


@dataclass(frozen=True)
class Row:
    """A kind of landing."""

    name: str
    title: str
    fly: Callable[..., tuple[Any, xd.Scenario, Callable, int]]  # seed, options: what is flown
    bound: float  # [m]
    share: float  # of the flights that have to be within it; 0: none, it is only told
    options: dict[str, Any] = field(default_factory=dict)  # of the scenario
    most: int = 50  # flights
    needs: str = ""  # an environment variable without which it is not flown

    def land(self, seed: int) -> Landing:
        """Flies once."""
        begun = time.process_time()
        agent, scenario, marker, flyer = self.fly(seed, **self.options)
        truth, failed = Truth(marker, flyer), ""
        with xd.Simulation(scenario, agent=agent, observers=[truth]) as simulation:
            try:
                while not agent.done:
                    simulation.step(10)
            except xd.XtdroneError as error:
                failed = str(error)
        end = truth.last
        seen = agent.tracker.detections / max(agent.tracker.images, 1)
        return Landing(
            self.name,
            seed,
            round(float(np.hypot(*end[:2])), 4),
            round(truth.t_us * 1e-6, 2),
            round(seen, 3),
            (round(float(end[0]), 4), round(float(end[1]), 4)),
            truth.path,
            failed,
            round(time.process_time() - begun, 1),
        )


class Truth(xd.Observer):
    """Keeps where the multirotor is relative to the marker."""

    period_us = 20_000

    def __init__(self, marker, flyer):
        """marker(state) is its place (3,) [m], flyer the index of the multirotor."""
        self._marker, self._flyer = marker, flyer
        self.t_us, self.last, self.path = 0, np.zeros(3), []

    def on_step(self, t_us, state, sensors):
        """Takes a place."""
        self.t_us, self.last = t_us, state.pos[self._flyer] - self._marker(state)
        if t_us % PATH_US == 0:
            away = float(np.hypot(*self.last[:2]))
            self.path.append((round(away, 3), round(float(self.last[2]), 3)))


def on_pad(seed, **options):
    """Lands on the pad from a random place, which is said to be elsewhere."""
    rng = np.random.default_rng(seed)
    start = PAD[:2] - rng.uniform(2.0, 4.0, 2) * rng.choice([-1.0, 1.0], 2)
    away = PAD[:2] - start + np.clip(rng.normal(0.0, FOUND_M, 2), -2.5, 2.5)
    vehicles = f"iris_downward@{start[0]:.3f},{start[1]:.3f},0"
    scenario = xd.Scenario(vehicles, world="landing", seed=seed, log="none", **options)
    agent = MarkerLandingAgent(east=float(away[0]), north=float(away[1]))
    return agent, scenario, lambda state: PAD, 0


def on_nothing(seed, **options):
    """Is told of a pad where there is none: it searches, then lands where it is."""
    scenario = xd.Scenario("iris_downward", world="empty", seed=seed, log="none", **options)
    said = np.array([3.0, 2.0, 0.0])
    agent = MarkerLandingAgent(east=3.0, north=2.0, height=4.0)
    return agent, scenario, lambda state: said, 0


def on_deck(carrier, seed, **options):
    """Lands on a rover or boat that drives at 1 m/s."""
    boat = carrier == "boat_marker"
    vehicles = f"{carrier}; iris_downward@{'0,0,1.34' if boat else '-3,0,0'}"
    world = "lake" if boat else "landing"
    scenario = xd.Scenario(vehicles, world=world, seed=seed, log="none", **options)
    height, ids = DECKS[carrier]
    top = np.array([0.0, 0.0, height]) - np.array(load_vehicle(carrier).cog)

    def deck(state):
        return state.pos[0] + np.array(rotate(*state.quat[0], *top))

    return MarkerDeckLandingAgent(marker=f"tag36h11:{ids}:0.8"), scenario, deck, 1


ROVER, BOAT = partial(on_deck, "rover_marker"), partial(on_deck, "boat_marker")
NIGHT = {"rendering": "realistic", "time_of_day": "01:00"}
RAIN = {"rendering": "realistic", "time_of_day": "12:00", "weather": "rain=10"}
SEA = {"waves": "height=0.3 period=3 direction=60 start=15"}
ROUGH = {"waves": "height=0.3 period=3 direction=60"}  # from the start: the deck rocks at first
GUSTS = {"wind": "dryden=5"}
ROWS = (
    Row("pad", "pad, by day", on_pad, 0.10, 1.0),
    Row("rover", "rover at 1 m/s, by day", ROVER, 0.15, 1.0),
    Row("boat", "boat at 1 m/s, waves of 0.3 m", BOAT, 0.15, 0.9, SEA),
    Row("pad_px4", "pad, by real PX4", on_pad, 0.10, 1.0, {"autopilot": "px4"}, 10, "PX4_BUILD"),
    Row(
        "pad_px4_slow",
        "pad, by real PX4, slower",
        on_pad,
        0.10,
        1.0,
        {"autopilot": "px4", "params": str(Path(__file__).with_name("landing_px4.param"))},
        10,
        "PX4_BUILD",
    ),
    Row("nothing", "no pad: search, then down", on_nothing, 1.0, 1.0, most=3),
    Row(
        "nothing_px4",
        "no pad, by real PX4",
        on_nothing,
        1.0,
        1.0,
        {"autopilot": "px4"},
        3,
        "PX4_BUILD",
    ),
    Row("boat_still", "boat at 1 m/s, still water", BOAT, 0.15, 1.0),
    Row("boat_start", "boat, waves from the start", BOAT, 0.15, 0.9, ROUGH, most=10),
    Row("boat_night", "boat, waves, by night", BOAT, 0.15, 0.9, SEA | NIGHT),
    Row("pad_night", "pad, by night", on_pad, 0.10, 1.0, NIGHT),
    Row("pad_rain", "pad, rain of 10 mm/h", on_pad, 0.10, 1.0, RAIN),
    Row("pad_gusts", "pad, gusts", on_pad, 0.10, 0.0, GUSTS),
    Row("rover_night", "rover, by night", ROVER, 0.15, 1.0, NIGHT),
    Row("rover_rain", "rover, rain of 10 mm/h", ROVER, 0.15, 1.0, RAIN),
    Row("rover_gusts", "rover, gusts", ROVER, 0.15, 0.0, GUSTS),
)


def read(file: Path) -> list[Landing]:
    """Returns what has been flown; the last line of a flight counts, a torn one does not."""
    found: dict[tuple[str, int], Landing] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            landing = Landing(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[landing.row, landing.seed] = landing
    return list(found.values())


def missing(rows: Iterable[Row], flights: int, flown: Iterable[Landing]) -> Iterator[tuple]:
    """Yields row and seed of each flight that is not there, the first ones of all rows first."""
    rows = [row for row in rows if not row.needs or os.environ.get(row.needs)]
    there = {(landing.row, landing.seed) for landing in flown}
    for seed in range(flights):
        for row in rows:
            if (row.name, seed) not in there and seed < row.most:
                yield row, seed


def append(file: Path, landing: Landing) -> None:
    """Adds a flight to a file at once."""
    file.parent.mkdir(parents=True, exist_ok=True)
    before = file.read_bytes() if file.exists() else b""
    torn = before and not before.endswith(b"\n")
    with file.open("a") as out:
        out.write(("\n" if torn else "") + json.dumps(asdict(landing)) + "\n")
