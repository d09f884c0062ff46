"""Learned policies, in the batch and in flight: writes docs/validation/policies.md.

    python scripts/validation/policies.py
    python scripts/validation/policies.py flights      only the sections with this word

What was learned before is kept in runs/policies and used again; remove it to learn anew. Real PX4
flies where PX4_BUILD names a build.
"""

import dataclasses
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tqdm import tqdm

from _report import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import results

from xtdrone_core import plot_style
from xtdrone_core.contracts import Observer
from xtdrone_core.runs import ports, run_folder
from xtdrone_core.scenario.scenario import Scenario
from xtdrone_gym.learning import curve
from xtdrone_gym.learning.training import Plan, Training
from xtdrone_gym.policy.agent import PolicyAgent
from xtdrone_gym.policy.policy_file import Policy
from xtdrone_gym.realism import FLIGHT
from xtdrone_gym.scaling import Scaling
from xtdrone_gym.task_batch import TaskBatch
from xtdrone_gym.tasks import TASKS
from xtdrone_sim.simulation import Simulation
from xtdrone_sim.warm_up import ensure_warm

ROOT = Path(__file__).resolve().parents[2]
FOLDER = run_folder.runs_root() / "policies"
TASK = "Position-v0"
WIND, WIND_LEARNED = 3.0, 4.0  # of the flights, and most of the training [m/s]
STEPS = 499  # of an episode
HELD, HOLD_S = 0.5, 2.0  # a goal counts as held: always within this, over the last seconds [m, s]
FLIGHTS, VEHICLES = 200, 20  # episodes, and vehicles that fly them side by side
PX4_VEHICLES, PX4_EPISODES = 5, 8  # of each flight of real PX4
SEEDS, GOOD, LONGEST_S = 5, 0.99, 60.0
ROBUST = Plan(
    task=TASK,
    seconds=120.0,
    realism=FLIGHT,
    changes={"wind": WIND_LEARNED, "mass": 0.2, "thrust": 0.1},
)
ANY = dataclasses.replace(
    ROBUST,
    any_vehicle=True,
    history=2,
    realism=dataclasses.replace(FLIGHT, action_bias=0.08),
    changes={**ROBUST.changes, "mass": 0.3, "thrust": 0.2},
)
OTHERS = ("iris", "crazyflie", "heavy_lifter", "solo", "typhoon_h480", "octorotor")
MASS, MOTORS = 0.4, 0.25  # held-out, wider than ANY was learned with
# Every task: seconds of training at most, and the share of unseen episodes that has to succeed.
ALL = {
    "Hover-v0": (60.0, 0.99),
    "Position-v0": (60.0, 0.98),
    "Velocity-v0": (60.0, 0.98),
    "Trajectory-v0": (90.0, 0.95),
    "Racing-v0": (180.0, 0.95),
    "DepthNavigation-v0": (180.0, 0.8),
    "Landing-v0": (180.0, 0.85),
    "MultiHover-v0": (240.0, 0.8),
    "Formation-v0": (240.0, 0.8),
    "Pursuit-v0": (240.0, 0.95),
}


def learned(name: str, plan: Plan) -> Path:
    """The policy of a plan, learned now or before; returns its file."""
    folder = FOLDER / name
    if not (folder / "policy.onnx").exists():
        training = Training(plan, folder)
        with tqdm(total=plan.seconds if plan.seconds < 1e9 else None, desc=name) as bar:
            training.run(lambda progress, _: bar.update(progress.seconds - bar.n))
    return folder / "policy.onnx"


def learning(page: Page) -> None:
    """Five seeds, each until 99 % of unseen episodes succeed."""
    page.add(
        f"## {TASK}: {SEEDS} seeds until {GOOD:.0%} of unseen episodes succeed",
        "",
        f"Success: {TASKS[TASK].success}. Two threads; evaluations are not counted.",
    )
    page.table("seed", "steps", "seconds", "success of 1,000 unseen episodes", "holds")
    rows, work = [], results.Work()
    for seed in range(SEEDS):
        training = Training(Plan(task=TASK, seed=seed, target=GOOD, seconds=LONGEST_S))
        success = training.run()
        found = training.learner
        work.count("steps of training", found.steps, 1)
        rows.append(
            ({"task": TASK, "target": GOOD, "seed": seed, "of": "xtdrone"}, found.seconds, "s")
        )
        page.row(
            seed,
            f"{found.steps / 1e6:.2f} million",
            f"{found.seconds:.1f}",
            f"{success:.1%}",
            page.holds(
                f"{TASK} seed {seed}: {success:.1%} after {found.seconds:.1f} s (15)",
                success >= GOOD - 0.01 and found.seconds <= 15.0,
            ),
        )
    page.add()
    results.replace("learning_seconds", rows, work)


def tasks(page: Page) -> None:
    """Every task, learned by its own settings, with one seed."""
    page.add(
        "## Every task",
        "",
        f"`xtdrone learn TASK --target {GOOD:g} --seconds LIMIT`, seed 0; two threads, "
        "evaluations are not counted; steps are those of all vehicles together.",
    )
    page.table("task", "success", "limit [s]", "steps", "seconds", "1,000 unseen episodes", "holds")
    folders = {}
    for name, (limit, wanted) in ALL.items():
        task = TASKS[name]
        plan = Plan(
            task=name,
            seconds=limit,
            target=GOOD,
            environments=task.learner.get("environments", 512),
        )
        policy = learned(name, plan)
        folders[name] = policy.parent
        found = Policy(policy).description.training
        page.row(
            name,
            task.success,
            f"{limit:g}",
            f"{found['steps'] / 1e6:.1f} million",
            f"{found['seconds']:.0f}",
            f"{found['success']:.1%}",
            page.holds(
                f"{name}: {found['success']:.1%} after {found['seconds']:.0f} s ({wanted:.0%})",
                found["success"] >= wanted,
            ),
        )
    page.add()
    figure, panels = plot_style.panels(2, 5, 12.0, 5.0)
    for axes, (name, folder) in zip(np.ravel(panels), folders.items(), strict=True):
        columns = curve.read(folder / "curve.csv")
        known = np.isfinite(columns["evaluated"])
        axes.plot(
            1e-6 * columns["steps"][known], columns["evaluated"][known], color=plot_style.series(0)
        )
        axes.set_title(name, fontsize="small")
        axes.set_ylim(-0.03, 1.03)
    figure.supxlabel("million steps", fontsize="small")
    figure.supylabel("episodes that succeed", fontsize="small")
    page.picture("Learning curves: share of 256 unseen episodes that succeed", figure, "curves")


class Distances(Observer):
    """True distance of each vehicle to its goal, each 20 ms of an episode, by the Agent."""

    period_us = 20_000

    def __init__(self, agent: PolicyAgent):
        self.agent, self.episodes = agent, []
        self._now: list[np.ndarray] = []

    def on_step(self, t_us, state, sensors) -> None:
        """Notes the distances while an episode lasts."""
        goals = self.agent.episode_goals()
        if goals is not None:
            self._now.append(np.linalg.norm(state.pos - goals, axis=1))
        elif self._now:
            self.episodes.append(np.array(self._now))
            self._now = []


def held(distances: np.ndarray) -> float:
    """Share of episodes (T, N) that reach and hold their goal."""
    last = round(HOLD_S / 0.02)
    return float((distances[-last:] <= HELD).all(axis=0).mean())


def flown(policy: Path, autopilot: str, vehicles: int, episodes: int, seed: int = 0) -> np.ndarray:
    """Distances (T, N) of all episodes of one flight of a fleet in wind."""
    side = math.ceil(math.sqrt(vehicles))
    spots = "; ".join(f"iris@{12 * (k % side)},{12 * (k // side)},0" for k in range(vehicles))
    scenario = Scenario.from_dict(
        {
            "vehicles": spots,
            "gps": "rtk",
            "autopilot": autopilot,
            "speed": 0.0,
            "seed": seed,
            "wind": f"{WIND / math.sqrt(2)},{WIND / math.sqrt(2)},0",
        }
    )
    agent = PolicyAgent(vehicles, str(policy), episodes=episodes, seed=seed)
    seen = Distances(agent)
    ensure_warm()
    with tempfile.TemporaryDirectory() as folder:
        run_folder.prepare(Path(folder))
        simulation = Simulation(
            scenario, Path(folder), agent, links=autopilot != "embedded", observers=[seen]
        )
        try:
            simulation.run(None)
        finally:
            simulation.close()
    if simulation.crashes:
        print(f"{len(simulation.crashes)} crashes")
    return np.concatenate([each[:STEPS] for each in seen.episodes], axis=1)


def in_batch(
    policy: Policy, episodes: int, seed: int, motors: float = 0.0, **options
) -> np.ndarray:
    """Distances (T, N) of episodes in the batch, with the errors of training.

    Args:
        policy: The policy.
        episodes: How many.
        seed: Of them.
        motors: Share by which the forces of all rotors of a vehicle differ together.
        options: Of TaskBatch.
    """
    tasks = TaskBatch(
        TASK,
        episodes,
        seed=2**30 + seed,
        realism=FLIGHT,
        history=policy.description.history,
        **options,
    )
    if motors:
        tasks.batch.variation.effectiveness[:] = np.random.default_rng(seed).uniform(
            1.0 - motors, 1.0 + motors, (episodes, 1, 1)
        )
    scaling, memory, rows = Scaling.of(tasks), policy.first_memory(episodes), []
    for _ in range(STEPS):
        action, memory = policy.act(tasks.observation[:, 0], memory)
        tasks.step(scaling.action(action)[:, None])
        rows.append(np.linalg.norm(tasks.goal - tasks.batch.state.pos, axis=2)[:, 0])
    return np.array(rows)


def over_ros(policy: Path) -> tuple[int, int]:
    """Episodes that succeeded, by the estimate, and all, of vehicles over MAVROS's topics."""
    port = 11351 + ports.default_instance()
    done = subprocess.run(
        [
            "roslaunch",
            "-p",
            str(port),
            ROOT / "launch/policy.launch",
            f"policy:={policy.resolve()}",
            "speed:=1",
            "episodes:=20",
            "gps:=rtk",
            f"wind:={WIND},0,0",
        ],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "ROS_MASTER_URI": f"http://127.0.0.1:{port}"},
    )
    line = next(line for line in done.stdout.splitlines() if line.startswith("reached "))
    return int(line.split()[1]), int(line.split()[3])


def flights(page: Page) -> None:
    """One file through batch, embedded stack, real PX4 and MAVROS's topics."""
    policy = learned("robust", ROBUST)
    trained = Policy(policy).description.training
    page.add(
        "## One policy, four ways",
        "",
        f"{TASK}, learned for {trained['seconds']:.0f} s ({trained['steps'] / 1e6:.1f} "
        "million steps) with noise, bias, delay, wind, and varied mass and rotors: `xtdrone "
        f"learn {TASK} --realism flight --wind {WIND_LEARNED:g} --mass 0.2 --thrust 0.1 "
        f"--seconds {ROBUST.seconds:g}`. Flown in {WIND:g} m/s of wind. A goal is held if the "
        f"true distance stays within {HELD:g} m over the last {HOLD_S:g} s of 10; RTK GPS "
        "and every sensor with its noise, but for the batch, which has the errors of "
        "training. Over MAVROS's topics the simulation runs in real time, else as fast as it "
        "can.",
    )
    page.table(
        "through",
        "episodes",
        "goals held",
        "median distance at the end [m]",
        "95 % within [m]",
        "holds",
    )
    rows, curves, work = [], {}, results.Work()
    ways = {
        "batch": lambda: in_batch(Policy(policy), FLIGHTS, 7, wind=f"{WIND},0,0"),
        "embedded": lambda: flown(policy, "embedded", VEHICLES, FLIGHTS // VEHICLES),
    }
    if os.environ.get("PX4_BUILD"):
        ways["px4"] = lambda: np.concatenate(
            [
                flown(policy, "px4", PX4_VEHICLES, PX4_EPISODES, seed)
                for seed in range(FLIGHTS // (PX4_VEHICLES * PX4_EPISODES))
            ],
            axis=1,
        )
    for through, fly in ways.items():
        curves[through] = distances = fly()
        share = held(distances)
        work.count("goals flown to", distances.shape[1], 1)
        rows.append(({"task": TASK, "through": through, "wind": WIND}, share, "share"))
        page.row(
            through,
            distances.shape[1],
            f"{share:.1%}",
            f"{np.median(distances[-1]):.2f}",
            f"{np.percentile(distances[-1], 95):.2f}",
            page.holds(f"{through}: {share:.1%} of goals held (95 %)", share >= 0.95),
        )
    if "px4" not in ways:
        page.row("px4", "", "", "", "", "not run: PX4_BUILD is not set")
    won, of = over_ros(policy)
    work.count("goals flown to over ROS", of, 1)
    rows.append(({"task": TASK, "through": "mavros", "wind": WIND}, won / of, "share"))
    page.row(
        "MAVROS's topics",
        of,
        f"{won / of:.1%} within 0.2 m by the estimate",
        "",
        "",
        page.holds(f"mavros: {won} of {of}", won / of >= 0.95),
    )
    page.add()
    results.replace("policy_success", rows, work)
    figure, panels = plot_style.panels(1, 1, 8.0, 4.0)
    axes = np.ravel(panels)[0]
    for k, (through, distances) in enumerate(curves.items()):
        t = 0.02 * np.arange(len(distances))
        axes.plot(t, np.median(distances, axis=1), color=plot_style.series(k), label=through)
        axes.fill_between(
            t,
            *np.percentile(distances, [5, 95], axis=1),
            alpha=0.15,
            color=plot_style.series(k),
            lw=0,
        )
    axes.set_xlabel("time in the episode [s]")
    axes.set_ylabel("distance to the goal [m]")
    axes.set_ylim(0.0, 3.5)
    plot_style.legend(figure)
    page.picture("Distance to the goal, median and 90 % of the episodes", figure, "four_ways")


def any_vehicle(page: Page) -> None:
    """One policy, learned on varied irises, for vehicles that it never saw."""
    policy = Policy(learned("any", ANY))
    page.add(
        "## One policy for vehicles that it never saw",
        "",
        f"Learned on iris alone, with mass and inertia from {1 - ANY.changes['mass']:.0%} "
        f"to {1 + ANY.changes['mass']:.0%}, the forces of each rotor likewise by "
        f"{ANY.changes['thrust']:.0%}, {ANY.history} earlier observations, noise, delay, and "
        f"errors of the body rates by {ANY.realism.action_bias:.0%} of their range. "
        f"Flown with the same noise by vehicles of another mass (by {MASS:.0%}), with other "
        f"motors (all by {MOTORS:.0%}, up or down together), and with another mass and each "
        "rotor by itself another. Held as above.",
    )
    page.table(
        "vehicle", "as modelled", "other mass", "other motors", "other mass, uneven rotors", "holds"
    )
    usual = TASKS[TASK].randomisation
    for vehicle in OTHERS:
        shares = [
            held(
                in_batch(
                    policy,
                    500,
                    9,
                    motors,
                    vehicle=vehicle,
                    randomisation=dataclasses.replace(usual, **changes),
                )
            )
            for motors, changes in (
                (0.0, {}),
                (0.0, {"mass": MASS}),
                (MOTORS, {}),
                (0.0, {"mass": MASS, "thrust": MOTORS}),
            )
        ]
        texts = [f"{share:.1%}" for share in shares]
        page.row(
            vehicle,
            *texts,
            page.holds(f"any vehicle, {vehicle}: {', '.join(texts)} (90 %)", min(shares) >= 0.9),
        )


SECTIONS = {"learning": learning, "tasks": tasks, "flights": flights, "any": any_vehicle}


def main() -> int:
    """Runs the sections that are asked for; the page is written only if all are."""
    words = sys.argv[1:]
    page = Page("policies")
    page.add("# Policies", "", "Made by `scripts/validation.sh policies`.")
    for name, section in SECTIONS.items():
        if not words or name in words:
            section(page)
    if words:
        print("\n".join(page.lines))
        return bool(page.broken)
    return page.write()


if __name__ == "__main__":
    sys.exit(main())
