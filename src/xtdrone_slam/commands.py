"""The command `xtdrone slam`: record a dataset, run a system on it, evaluate a trajectory."""

import dataclasses

from . import environments

EXAMPLES = """examples:
  xtdrone slam record --world indoor --trajectory reference --name indoor
  xtdrone slam evaluate estimate.tum --reference runs/indoor/dataset/groundtruth.tum
  xtdrone slam run --system klt --dataset runs/indoor/dataset --runs 5
  xtdrone slam install orbslam3
"""


def register(subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser("slam", help="record datasets, run and evaluate visual SLAM",
                                   description="Benchmarks of visual SLAM.", epilog=EXAMPLES)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_record(actions)
    _add_evaluate(actions)
    _add_run(actions)
    environments.add_install(actions)


def _add_record(actions):
    record = actions.add_parser("record", help="fly a trajectory with a stereo pair, and record it")
    add = record.add_argument
    add("--world", default="indoor", help="a name from worlds/, or an SDF file (indoor)")
    add("--trajectory", default="reference",
        help="reference, or a file: .csv with t,x,y,z,yaw, or .tum (reference)")
    add("--vehicle", default="iris_stereo", help="type, with a grey stereo pair (iris_stereo)")
    add("--seed", type=int, default=1, help="of every random number (1)")
    add("--gps", default="rtk", help="preset of the receiver that the flight uses (rtk)")
    add("--name", default="slam", help="of the run folder, which gets the folder dataset")
    record.set_defaults(run=_record)


def _add_evaluate(actions):
    evaluate = actions.add_parser("evaluate", help="APE and RPE of a trajectory, by evo")
    evaluate.add_argument("estimate", metavar="EST.tum")
    evaluate.add_argument("--reference", required=True, metavar="GT.tum", help="the truth")
    _add_metrics(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    evaluate.set_defaults(run=_evaluate)


def _add_metrics(parser):
    parser.add_argument("--align", default="se3", choices=["se3", "sim3", "none", "origin"],
                        help="of the estimate to the truth (se3)")
    parser.add_argument("--max_diff", type=float, default=0.01,
                        help="between stamps of poses that belong together [s] (0.01)")


def _add_run(actions):
    run = actions.add_parser("run", help="replay a dataset to a system, and evaluate it")
    add = run.add_argument
    add("--system", required=True, help="klt, or a folder with an adapter.yaml")
    add("--dataset", required=True, metavar="FOLDER", help="folder that holds mav0")
    add("--runs", type=int, default=5, help="how often (5)")
    add("--speed", type=float, default=1.0, help="1 replays at the sensor's rate (1)")
    _add_metrics(run)
    add("--set", action="append", default=[], metavar="NAME=VALUE",
        help="parameter of the system, as YAML; may be given several times")
    add("--name", help="of the run folder (slam_SYSTEM)")
    run.set_defaults(run=_run)


def _evaluate(args):
    import json

    from .evaluation import METRICS, UNITS, evaluate

    result = evaluate(args.estimate, args.reference, args.align, max_diff_s=args.max_diff)
    if args.json:
        print(json.dumps({"alignment": result.alignment, "pairs": result.pairs,
                          "statistics": result.statistics}, indent=2))
        return
    print(f"{result.pairs} poses, alignment {result.alignment}, RPE per half metre")
    keys = list(result.statistics[METRICS[0]])
    print(f"{'':24s}" + "".join(f"{key:>12s}" for key in keys))
    for metric in METRICS:
        print(f"{metric + ' [' + UNITS[metric] + ']':24s}" + "".join(
            f"{result.statistics[metric][key]:12.6f}" for key in keys))


def _run(args):
    import sys

    import yaml
    from tqdm import tqdm

    from xtdrone_core import run_folder

    from . import formats, report, runner
    from .dataset import Dataset
    from .errors import SlamError
    from .evaluation import evaluate

    if args.runs < 1 or not args.speed > 0:
        raise SlamError(f"{args.runs} runs at speed {args.speed:g} make no sense: give 1 or more "
                        "runs and a positive speed")
    words = [word.partition("=") for word in args.set]
    adapter = runner.load_adapter(args.system, **{name: yaml.safe_load(value)
                                                  for name, _, value in words})
    dataset = Dataset(args.dataset)
    folder = run_folder.create(args.name or f"slam_{adapter.name}")
    formats.write_tum(folder / "groundtruth.tum", dataset.truth())
    runs = []
    with tqdm(total=args.runs * len(dataset), unit=" pairs", file=sys.stderr) as bar:
        for number in range(1, args.runs + 1):
            bar.set_description(f"{adapter.name}, run {number} of {args.runs}")
            place = folder / f"run_{number}"
            outcome = runner.run(adapter, dataset, place, args.speed, progress=bar.update)
            result = None
            if not outcome.reason:
                try:
                    result = evaluate(place / "estimate.tum", folder / "groundtruth.tum",
                                      args.align, max_diff_s=args.max_diff)
                except SlamError as error:
                    outcome = dataclasses.replace(outcome, reason=str(error))
            runs.append((outcome, result))
    print(report.save(folder, adapter.name, runs, adapter.deterministic))
    print(f"run folder: {folder}")


def _record(args):
    from xtdrone_core import command

    from . import trajectories

    (x, y, _), _, yaw, *_ = trajectories.load(args.trajectory).at(0.0)
    return command.main([
        "fly", "xtdrone_slam.agent:TrajectoryAgent", "--set", f"trajectory={args.trajectory}",
        "--vehicles", f"{args.vehicle}@{x:.4f},{y:.4f},0,{yaw:.4f}", "--world", args.world,
        "--seed", str(args.seed), "--gps", args.gps, "--name", args.name])
