"""Landings on markers: docs/validation/landing.md.

`python scripts/validation/landing.py --flights 50` flies, draws the figures and exits with status 1
if a bound is exceeded; with fewer flights it takes minutes instead of an hour.
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np

import xtdrone as xd
from xtdrone_core import plot_style
from xtdrone_core.errors import XtdroneError
from xtdrone_dynamics.quaternion import rotate
from xtdrone_perception.landing.agent import MarkerLandingAgent
from xtdrone_perception.landing.deck_agent import MarkerDeckLandingAgent
from xtdrone_sim.vehicles.sdf import load_vehicle

PAD = np.array([6.0, 4.0])  # of the world `landing`
FOUND_M = 1.5  # standard deviation of where the pad is said to be
LIT = (
    ("noon", "12:00", "clear"),
    ("evening", "20:30", "clear"),
    ("night", "01:00", "clear"),
    ("rain", "12:00", "rain=20"),
)


@dataclass
class Landing:
    """How one landing went."""

    error: float  # horizontal distance of the vehicle from the middle of the marker [m]
    seconds: float  # of the whole flight
    seen: float  # share of the images with a marker
    path: np.ndarray  # (T, 4) time [s] and place relative to the marker [m]


class Truth(xd.Observer):
    """Keeps where the multirotor is relative to the marker, ten times a second."""

    period_us = 100_000

    def __init__(self, marker, flyer):
        """marker(state) is its place (3,) [m], flyer the index of the multirotor."""
        self.marker, self.flyer, self.rows = marker, flyer, []

    def on_step(self, t_us, state, sensors):
        self.rows.append((t_us * 1e-6, *(state.pos[self.flyer] - self.marker(state))))


def fly(agent, scenario, marker, flyer=0):
    """Flies until the Agent is done."""
    truth = Truth(marker, flyer)
    with xd.Simulation(scenario, agent=agent, observers=[truth]) as simulation:
        while not agent.done:
            simulation.step(10)
    path, tracker = np.array(truth.rows), agent.tracker
    seen = tracker.detections / max(tracker.images, 1)
    return Landing(float(np.hypot(*path[-1, 1:3])), path[-1, 0], seen, path)


def on_pad(seed, **options):
    """Lands on the pad from a random place, which is said to be elsewhere, in wind and gusts."""
    rng = np.random.default_rng(seed)
    start = PAD - rng.uniform(2.0, 4.0, 2) * rng.choice([-1.0, 1.0], 2)
    away = PAD - start + np.clip(rng.normal(0.0, FOUND_M, 2), -2.5, 2.5)
    scenario = xd.Scenario(
        vehicles=f"iris_downward@{start[0]:.3f},{start[1]:.3f},0",
        world="landing",
        seed=seed,
        **{"wind": "mean=3,2,0 dryden=5", **options},
    )
    agent = MarkerLandingAgent(east=float(away[0]), north=float(away[1]))
    return fly(agent, scenario, lambda state: np.array([*PAD, 0.02]))


def on_deck(carrier, seed):
    """Lands on a rover or boat that drives at 1 m/s."""
    boat = carrier == "boat_marker"
    scenario = xd.Scenario(
        vehicles=f"{carrier}; iris_downward@{'0,0,1.34' if boat else '-3,0,0'}",
        world="lake" if boat else "landing",
        seed=seed,
        wind="mean=3,2,0",
    )
    ids = "20,21,22" if boat else "10,11,12"
    height = 1.33 if boat else 1.97

    cog = np.array(load_vehicle(carrier).cog)

    def deck(state):
        return state.pos[0] + np.array(rotate(*state.quat[0], *(np.array([0, 0, height]) - cog)))

    return fly(MarkerDeckLandingAgent(marker=f"tag36h11:{ids}:0.8"), scenario, deck, 1)


def draw(landings, title):
    """Draws where each landing ended, and its path in height and distance."""
    figure, (ground, side) = plot_style.subplots(1, 2, figsize=(9.0, 4.2))
    for landing in landings:
        ground.plot(*landing.path[-1, 1:3], "o", color=plot_style.COLOURS[0], ms=3)
        descent = landing.path[landing.path[:, 0] > 8.0]
        side.plot(np.hypot(descent[:, 1], descent[:, 2]), descent[:, 3], lw=0.6, alpha=0.6)
    ground.set(xlabel="east of the middle [m]", ylabel="north of it [m]", title=title)
    ground.set_aspect("equal")
    side.set(xlabel="distance [m]", ylabel="height above the marker [m]")
    return figure


def main():
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=50, help="of each kind (50)")
    parser.add_argument("--only", default="", help="pad, rover, boat or light")
    args = parser.parse_args()
    kinds = {
        "pad": lambda seed: on_pad(seed),
        "rover": lambda seed: on_deck("rover_marker", seed),
        "boat": lambda seed: on_deck("boat_marker", seed),
    }
    for kind, flown in kinds.items():
        if args.only in ("", kind):
            for seed in range(args.flights):
                try:
                    landing = flown(seed)
                    print(
                        kind,
                        seed,
                        round(landing.error, 3),
                        round(landing.seconds, 1),
                        round(landing.seen, 2),
                        landing.path[-1, 1:].round(3),
                        flush=True,
                    )
                except XtdroneError as error:
                    print(kind, seed, error, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
