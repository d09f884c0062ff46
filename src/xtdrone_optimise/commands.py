"""Subcommand `xtdrone optimise`: vehicle and controller together, from flown scenarios."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from xtdrone_core.command import Subparsers
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type

from .errors import OptimiseError

EXAMPLES = """a study:
  vehicle: iris
  variables:
    gain: {from: 0.5, to: 3, start: 0.95}
    mass: {from: 1.2, to: 1.8, start: 1.5}
  set:
    link[base_link]/inertial/mass: mass
  parameters:
    MPC_XY_P: gain
  flights:
    square: {agent: square, set: {side: 3}, scenario: {wind: "4,0,0"}, seeds: 2, longest: 120}
  objectives:
    energy: square.energy_kj
    error: largest(square.track_rms_m)
  constraints: [square.tilt_max_deg <= 30]
  method: nsga2
  evaluations: 100

examples:
  xtdrone optimise study.yaml                   a process for each core, into runs/optimise_study
  xtdrone optimise study.yaml --workers 0       in this process
  xtdrone optimise study.yaml --ray local       on Ray
  xtdrone optimise study.yaml --check           reads the study, and evaluates its start
"""


def register(subparsers: Subparsers) -> None:
    """`xtdrone optimise`."""
    parser = subparsers.add_parser(
        "optimise", help="optimise vehicle and controller together", epilog=EXAMPLES
    )
    parser.add_argument("study", metavar="STUDY", help="YAML file of the study")
    parser.add_argument(
        "--workers",
        type=number_type("workers", 0, 1000, whole=True),
        metavar="COUNT",
        help="processes on this machine, 0 = none beside this one (one for each core)",
    )
    parser.add_argument(
        "--time_out",
        type=number_type("time_out", 1.0, 1e6, unit="s"),
        default=3600.0,
        metavar="SECONDS",
        help="wall time after which a candidate is given up [s] (3600)",
    )
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="evaluate on a Ray cluster, HOST:PORT, or local for Ray on this machine",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="of evaluations.jsonl, result.json, study.png and models/ (runs/optimise_NAME)",
    )
    parser.add_argument("--check", action="store_true", help="evaluate the start alone")
    parser.set_defaults(run=_run)


def _run(args: Namespace) -> None:
    from tqdm import tqdm

    from xtdrone_core import plot_style

    from . import optimisation, report
    from .journal import Journal
    from .study import read

    path = Path(args.study).expanduser()
    study = read(path)
    if args.check:
        _check(args, path)
        return
    folder = _folder(args, study.name)
    with (
        Journal(folder, study.definition) as journal,
        tqdm(
            total=study.evaluations,
            unit=" evaluations",
            desc=study.name,
            file=sys.stderr,
            delay=1e-3,
            disable=None,
        ) as bar,
    ):

        def watch(more: int, graded: Any) -> None:  # candidates so far
            front = optimisation.best(graded) if not more else []
            if front:
                bar.set_postfix_str(f"{len(front)} best, {front[0].objectives[0]:.4g}")
            bar.update(more)

        graded = optimisation.run(study, path, _runner(args), journal, watch)
    front = optimisation.best(graded)
    print("\n".join(report.lines(study, graded, front)))
    run_folder.write_json(folder / "result.json", report.data(study, graded, front))
    paths = [
        *report.write_models(study, front, folder / "models"),
        plot_style.save(report.draw(study, graded, front), folder / "study.png"),
        folder / "result.json",
        folder / "evaluations.jsonl",
    ]
    print(*paths, sep="\n")


def _check(args: Namespace, path: Path) -> None:
    """Evaluates the start, and prints every figure of it."""
    from .evaluation import Candidate, evaluate
    from .optimisation import grade
    from .study import read

    study = read(path)
    measured = evaluate(Candidate(str(path.absolute()), study.start))
    one = grade(study, 0, study.start, measured)
    for name, numbers in measured.figures.items():
        print(f"{name:36} {', '.join(f'{number:.6g}' for number in numbers)}")
    for name, number in zip(study.objectives, one.objectives):
        print(f"objective {name:26} {number:.6g}")
    for text, number in zip(study.constraints, one.excess):
        print(f"constraint {text.text:25} {'holds' if number <= 0.0 else 'is broken'}")
    if measured.reason:
        raise OptimiseError(f"the start of '{path}' does not fly: {measured.reason}")


def _runner(args: Namespace) -> Any:  # a Runner, each of whose iterators can be closed
    import os

    from xtdrone_campaign.runners import ONE_THREAD, ProcessRunner

    from .evaluation import evaluate
    from .optimisation import SerialRunner

    if args.ray:
        from xtdrone_campaign.cluster import LOCAL, RayRunner

        address = None if args.ray == LOCAL else args.ray
        return RayRunner(evaluate, address, environment=ONE_THREAD, error=OptimiseError)
    if args.workers == 0:
        return SerialRunner(evaluate)
    return ProcessRunner(evaluate, args.workers or os.cpu_count() or 1, args.time_out)


def _folder(args: Namespace, name: str) -> Path:
    """Makes the folder of results."""
    folder = (
        Path(args.out).expanduser() if args.out else run_folder.runs_root() / f"optimise_{name}"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failed:
        raise OptimiseError(
            f"cannot write to '{folder}': {failed.strerror}; give another folder with --out"
        ) from failed
    return folder
