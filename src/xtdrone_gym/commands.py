"""The command `xtdrone learn`: from a task to a policy."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from xtdrone_core import extras, resources
from xtdrone_core.command import Subparsers
from xtdrone_core.errors import MISSED
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type

from .learning.settings import CHANGES, NUMBERS, SETTINGS, parse

if TYPE_CHECKING:
    from .learning.training import Plan

EXAMPLES = """examples:
  xtdrone learn Position-v0
  xtdrone learn Position-v0 --vehicle crazyflie --target 0.99 --seed 3
  xtdrone learn Position-v0 --realism flight --wind 3 --mass 0.2 --thrust 0.1 --seconds 120
  xtdrone learn Position-v0 --seeds 5 --ray local
  xtdrone learn Velocity-v0 --vary learning_rate=1e-3,3e-3 --vary mass=0..0.4/0.2 --seeds 3
  xtdrone learn Track-v0 --track eight --seconds 600
  xtdrone learn my_task:TASK --seconds 30
  xtdrone learn Racing-v0 --seconds 300 --out runs/racing --resume
  xtdrone fly policy --policy runs/learn_Position-v0/policy.onnx
"""
_REALISM = ("none", "flight")


def register(subparsers: Subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser(
        "learn",
        help="learn a policy for a task",
        description="Learns a policy by proximal policy optimisation and writes it as ONNX and "
        "JSON, with its curve and checkpoints. Ends at the first of --target, --steps "
        "and --seconds. The exit status is 4 if a --target was not reached.",
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    task = add("task", metavar="TASK", help="see xtdrone list tasks, or module:TASK of your own")
    task.completer = lambda **_: _task_names()
    vehicle = add("--vehicle", default="iris", help="a multirotor (iris)")
    vehicle.completer = lambda **_: resources.vehicle_names()
    track = add("--track", default="", help="a race track on which Track-v0 is learned")
    track.completer = lambda **_: resources.track_names()
    add(
        "--any_vehicle",
        action="store_true",
        help="the policy may fly every multirotor; learn it with --mass, --thrust and --history",
    )
    add(
        "--environments",
        type=_number("environments"),
        default=None,
        help="learned from side by side (512, or the task's)",
    )
    add(
        "--target",
        type=number_type("target", 0.0, 1.0),
        default=None,
        metavar="RATE",
        help="success rate of unseen episodes",
    )
    add(
        "--steps",
        type=number_type("steps", 1, 1e12),
        metavar="COUNT",
        help="of all vehicles together",
    )
    add(
        "--seconds",
        type=number_type("seconds", 0.1, 1e7, unit="s"),
        default=None,
        help="of training [s] (60, without --target and --steps)",
    )
    add("--seed", type=number_type("seed", 0, 2**31, whole=True), default=0, help="(0)")
    add(
        "--seeds",
        type=number_type("seeds", 1, 1000, whole=True),
        default=1,
        metavar="COUNT",
        help="so many trainings, from --seed on, in processes of one thread each",
    )
    vary = add(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=VALUES",
        help="one training for each value and seed: 1,2,3 or FROM..TO/STEP; NAME is "
        f"{', '.join(NUMBERS)} or a setting of the learner; again for combinations",
    )
    vary.completer = lambda **_: [f"{name}=" for name in (*NUMBERS, *SETTINGS)]
    add("--ray", metavar="ADDRESS", help="these on a Ray cluster, HOST:PORT, or local")
    add(
        "--realism",
        choices=_REALISM,
        default="none",
        help="flight: noise, bias and delay as of a whole flight stack",
    )
    for name, metavar, text in (
        ("wind", "SPEED", "from any direction, 0 to this [m/s]"),
        ("mass", "FRACTION", "by which the randomisation of mass and inertia differs"),
        ("thrust", "FRACTION", "by which the randomisation of each rotor's forces differs"),
        (
            "curriculum",
            "STEPS",
            "over which realism, wind, mass and thrust grow from nothing (0: at once)",
        ),
        ("history", "COUNT", "earlier observations that the policy sees (0)"),
    ):
        add(f"--{name}", type=_number(name), default=0, metavar=metavar, help=text)
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"setting of the learner: {', '.join(SETTINGS)}",
    )
    add("--out", metavar="FOLDER", help="(runs/learn_TASK)")
    add("--resume", action="store_true", help="go on from the last checkpoint in --out")
    add("--tensorboard", action="store_true", help="write curves for TensorBoard, too")
    parser.set_defaults(run=_learn)


def _number(name: str) -> Callable[[str], float]:
    """Returns the type of an option."""
    low, high, whole, unit = NUMBERS[name]
    return number_type(name, low, high, whole=whole, unit=unit)


def _task_names() -> list[str]:
    from .tasks import TASKS

    return list(TASKS)


def tasks() -> dict[str, str]:
    """Returns name and aim of each task, for `xtdrone list tasks`."""
    from .tasks import TASKS

    return {task.name: f"{task.text}; success: {task.success}" for task in TASKS.values()}


def _learn(args: argparse.Namespace) -> int | None:
    from .errors import LearningError
    from .learning import sweep
    from .realism import FLIGHT, Realism
    from .task_batch import find_task

    task = find_task(args.task)
    learner = task.learner
    changes = {name: getattr(args, name) for name in CHANGES if getattr(args, name)}
    unlimited = args.target is None and args.steps is None and args.seconds is None
    try:
        from .learning.training import Plan
    except ImportError as error:
        raise LearningError(extras.lacking("learning", error, "learn")) from error
    plan = Plan(
        task=args.task,
        track=args.track,
        vehicle=args.vehicle,
        any_vehicle=args.any_vehicle,
        seed=args.seed,
        environments=args.environments or learner.get("environments", 512),
        history=args.history,
        curriculum=args.curriculum,
        realism=FLIGHT if args.realism == "flight" else Realism(),
        changes=changes,
        settings=parse(args.set),
        target=Plan.target if args.target is None else args.target,
        steps=int(args.steps or Plan.steps),
        seconds=60.0 if unlimited else (args.seconds or Plan.seconds),
    )
    folder = Path(args.out or run_folder.runs_root() / f"learn_{task.name}")
    trials = sweep.trials(plan, args.vary, args.seeds)
    success = (
        sweep.run(trials, folder, args.ray)
        if len(trials) > 1
        else [_one(trials[0].plan, folder, args)]
    )
    return MISSED if args.target is not None and min(success) < args.target else None


def _one(plan: "Plan", folder: Path, args: argparse.Namespace) -> float:
    """Runs one training with a progress bar; returns its success rate."""
    from tqdm import tqdm

    from .learning.ppo import Progress
    from .learning.training import Training

    training = Training(plan, folder, args.resume, args.tensorboard)
    total = plan.seconds if plan.seconds < 1e9 else None
    with tqdm(
        total=total,
        desc=plan.name,
        disable=None,
        unit="s",
        bar_format=None
        if total is None
        else "{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total:.0f} s {postfix}",
    ) as bar:

        def watch(progress: Progress, success: float) -> None:
            bar.update(min(progress.seconds, plan.seconds) - bar.n)
            bar.set_postfix_str(
                f"{progress.steps / 1e6:.2f} M steps, reward "
                f"{progress.reward:.2f}, success {success:.0%}"
            )

        success = training.run(watch)
    learner = training.learner
    print(
        f"{plan.name}, {plan.vehicle}, seed {plan.seed}: {success:.1%} of unseen episodes "
        f"succeed after {learner.steps / 1e6:.2f} million steps, {learner.seconds:.1f} s"
    )
    print(
        f"policy: {folder / 'policy.onnx'}; fly it: xtdrone fly policy --policy "
        f"{folder / 'policy.onnx'} --vehicle {plan.vehicle}"
    )
    return success
