"""Lands on markers many times: how far from the middle of the marker each flight ends.

`python scripts/validation/landing.py --flights 50` exits with status 1 if a bound is exceeded; a
flight takes about 10 s of processor time.
"""

import argparse
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import xtdrone as xd
from xtdrone_core import plot_style
from xtdrone_dynamics.quaternion import rotate
from xtdrone_perception.landing.agent import MarkerLandingAgent
from xtdrone_perception.landing.deck_agent import MarkerDeckLandingAgent
from xtdrone_sim.vehicles.sdf import load_vehicle

PAD = np.array([6.0, 4.0])  # of the world `landing`
FOUND_M = 1.5  # standard deviation of where the pad is said to be
BOUNDS = {"pad": 0.10, "rover": 0.15, "boat": 0.15}  # [m]


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
    """Lands on the pad from a random place, which is said to be elsewhere."""
    rng = np.random.default_rng(seed)
    start = PAD - rng.uniform(2.0, 4.0, 2) * rng.choice([-1.0, 1.0], 2)
    away = PAD - start + np.clip(rng.normal(0.0, FOUND_M, 2), -2.5, 2.5)
    scenario = xd.Scenario(
        vehicles=f"iris_downward@{start[0]:.3f},{start[1]:.3f},0",
        world="landing",
        seed=seed,
        **options,
    )
    agent = MarkerLandingAgent(east=float(away[0]), north=float(away[1]))
    return fly(agent, scenario, lambda state: np.array([*PAD, 0.02]))


def on_deck(carrier, seed, **options):
    """Lands on a rover or boat that drives at 1 m/s."""
    boat = carrier == "boat_marker"
    scenario = xd.Scenario(
        vehicles=f"{carrier}; iris_downward@{'0,0,1.34' if boat else '-3,0,0'}",
        world="lake" if boat else "landing",
        seed=seed,
        **options,
    )
    ids = "20,21,22" if boat else "10,11,12"
    height = 1.33 if boat else 1.97

    cog = np.array(load_vehicle(carrier).cog)

    def deck(state):
        return state.pos[0] + np.array(rotate(*state.quat[0], *(np.array([0, 0, height]) - cog)))

    return fly(MarkerDeckLandingAgent(marker=f"tag36h11:{ids}:0.8"), scenario, deck, 1)


def draw(landings, kind):
    """Draws where each landing ended, and its way down."""
    figure, (ground, side) = plot_style.panels(1, 2, 10.0, 4.4)
    for landing in landings:
        down = landing.path[landing.path[:, 0] > 8.0]
        ground.plot(*landing.path[-1, 1:3], "o", color=plot_style.series(0), ms=4)
        side.plot(np.hypot(down[:, 1], down[:, 2]), down[:, 3], color=plot_style.series(0), lw=0.7)
    turn = np.linspace(0.0, 2.0 * np.pi, 100)
    bound = BOUNDS[kind]
    ground.plot(bound * np.cos(turn), bound * np.sin(turn), color=plot_style.series(1))
    ground.set(xlabel="east of the middle [m]", ylabel="north of the middle [m]")
    ground.set_aspect("equal")
    side.set(xlabel="distance from the middle [m]", ylabel="height above the marker [m]")
    return figure


def main():
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flights", type=int, default=50, help="of each kind (50)")
    parser.add_argument("--only", default="", help="pad, rover or boat")
    parser.add_argument("--figure", default="", help="begin of the names of figures")
    parser.add_argument("--wind", default="", help="as of the scenario")
    parser.add_argument("--control", default="", help="of velocity and rates, such as indi")
    args = parser.parse_args()
    options = {"wind": args.wind} if args.wind else {}
    if args.control:
        options |= {"velocity_control": args.control, "rate_control": args.control}
    kinds = {
        "pad": on_pad,
        "rover": partial(on_deck, "rover_marker"),
        "boat": partial(on_deck, "boat_marker"),
    }
    broken = 0
    for kind, flown in kinds.items():
        if args.only in ("", kind):
            landings = [flown(seed, **options) for seed in range(args.flights)]
            errors = np.array([landing.error for landing in landings])
            good = int((errors < BOUNDS[kind]).sum())
            broken += good < len(errors)
            print(
                f"{kind}: {good} of {len(errors)} within {BOUNDS[kind]:g} m, mean "
                f"{errors.mean():.3f} m, largest {errors.max():.3f} m, marker in "
                f"{np.mean([landing.seen for landing in landings]):.0%} of the images",
                flush=True,
            )
            if args.figure:
                plot_style.save(draw(landings, kind), Path(f"{args.figure}_{kind}.png"))
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
