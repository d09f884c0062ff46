"""What the actions of `xtdrone slam` do."""

import json
import sys
from argparse import Namespace
from dataclasses import asdict, fields
from pathlib import Path

from xtdrone_core import extras, plot_look
from xtdrone_core.runs import run_folder
from xtdrone_core.windows import display

from .errors import SlamError

# Evaluation and OpenCV are imported where they are needed: they take seconds.
_IMAGES = ("cv2",)
_EVALUATED = ("cv2", "evo")  # an estimate from images, which is evaluated at the end


def _require(what: str, *modules: str) -> None:
    """Checks before anything flies or is written that the libraries are there which it needs."""
    for module in modules:
        extras.require(module, what, "slam", SlamError)


def install(args: Namespace) -> None:
    """Installs a system into an environment of its own."""
    from tqdm import tqdm

    from .benchmark import adapters, environments

    adapter = adapters.load(args.system)
    if not adapter.requirements:
        print(f"'{adapter.name}' needs no environment of its own")
        return
    if environments.installed(adapter) and not args.again:
        print(f"installed already: {environments.home(adapter)}; --again reinstalls it")
        return
    with tqdm(
        total=2 + bool(adapter.install), bar_format="{desc} |{bar:20}| {elapsed}", file=sys.stderr
    ) as bar:

        def progress(step: str, line: str) -> None:
            bar.set_description_str(f"{adapter.name}: {step} {line[:60]}")
            bar.update(not line)

        folder = environments.install(adapter, progress)
    print(f"installed: {folder}")


def watch(args: Namespace) -> None:
    """Shows a run in progress."""
    from .viewing import watch

    watch.show(run_folder.find(args.of_run), args.png)


def evaluate(args: Namespace) -> None:
    """Prints APE and RPE of a trajectory."""
    from .evaluation.metrics import METRICS, UNITS, evaluate

    result = evaluate(args.estimate, args.reference, args.align, args.delta, args.max_diff)
    if args.json:
        print(
            json.dumps(
                {
                    "alignment": result.alignment,
                    "pairs": result.pairs,
                    "by_rows": result.by_rows,
                    "statistics": result.statistics,
                },
                indent=2,
            )
        )
        return
    how = " compared row by row, as one file has no times" if result.by_rows else ""
    print(f"{result.pairs} poses{how}, alignment {result.alignment}, RPE per {args.delta:g} m")
    keys = list(result.statistics[METRICS[0]])
    print(f"{'':24s}" + "".join(f"{key:>14s}" for key in keys))
    for metric in METRICS:
        print(
            f"{metric + ' [' + UNITS[metric] + ']':24s}"
            + "".join(f"{result.statistics[metric][key]:14.6f}" for key in keys)
        )


def run(args: Namespace) -> int:
    """Runs a system on a dataset; returns the exit status."""
    from .benchmark import execution, plan
    from .datasets import dataset
    from .evaluation import verdict

    if args.gui:
        display.require_named(SlamError, "leave --gui away, and draw the run by slam watch --png")
    choice = plan.parse_system(args.system, args.set)
    limits = verdict.parse_limits(args.limit)
    folder = dataset.find(args.dataset)
    dataset.Dataset(folder)  # raises an error, if any, before the run folder is created
    _require("a benchmark", *_EVALUATED)
    conditions = plan.parse(
        {
            "systems": [args.system],
            "datasets": [str(folder)],
            "bandwidth": args.bandwidth,
            "loss": args.loss,
        }
    ).conditions
    campaign_of_one = plan.Campaign(
        choice.label,
        (choice,),
        conditions,
        args.runs,
        args.speed,
        args.align,
        args.max_diff,
        limits,
    )
    return execution.execute(
        campaign_of_one,
        run_folder.create(args.name or f"slam_{choice.label}"),
        gui=args.gui,
        serial=True,
    )


def campaign(args: Namespace) -> int:
    """Executes a campaign; returns the exit status."""
    from .benchmark import execution, plan

    planned = plan.load(args.file)
    _require("a campaign", *_EVALUATED)
    folder = run_folder.runs_root() / planned.name
    folder.mkdir(parents=True, exist_ok=True)
    return execution.execute(
        planned,
        folder,
        args.report,
        serial=args.serial,
        address=args.address,
        cores=args.cores,
        retry=args.retry,
    )


def compare(args: Namespace) -> int:
    """Combines benchmarks in one report; returns the exit status."""
    from .benchmark import execution
    from .evaluation import results, verdict

    limits = verdict.parse_limits(args.limit)
    folders = [run_folder.find(name).resolve() for name in args.folders]
    benchmarks = execution.evaluate(folders, args.align, args.max_diff, limits)
    names = [folder.name for folder in folders]
    with plot_look.using(args.style):
        return execution.conclude(
            run_folder.create(args.name),
            "Comparison of " + ", ".join(names),
            results.merge(list(zip(names, benchmarks))),
        )


def export(args: Namespace) -> None:
    """Converts a dataset, or exports a flown trajectory."""
    from tqdm import tqdm

    from .datasets import dataset, export as exporting
    from .flight import trajectories

    if args.format == "csv":
        flown = trajectories.read_flown(run_folder.find(args.source))
        trajectories.write_csv(Path(args.out), flown)
    else:
        source = dataset.Dataset(dataset.find(args.source))
        _require("the export of a dataset", *_IMAGES)
        with tqdm(
            total=len(source),
            unit=" pairs",
            desc=args.format,
            file=sys.stderr,
            delay=1e-3,
            disable=None,
        ) as bar:
            exporting.export(source, args.format, Path(args.out), lambda: bar.update())
    print(args.out)


def import_bag(args: Namespace) -> None:
    """Converts a bag to a dataset."""
    from tqdm import tqdm

    from .datasets import importing

    _require("the import of a bag", *_IMAGES, "rosbags")
    with tqdm(
        total=0, unit=" messages", desc="import", file=sys.stderr, delay=1e-3, disable=None
    ) as bar:

        def progress(count: int, total: int) -> None:
            bar.total = total
            bar.update(count - bar.n)

        pairs = importing.import_bag(
            args.bag, args.calibration, args.imu, args.truth, args.out, progress
        )
    print(f"{args.out}: {pairs} stereo pairs")


def record(args: Namespace) -> int:
    """Flies and records a dataset; returns the exit status."""
    from xtdrone_core import command

    from .flight import trajectories, worlds
    from .flight.options import FlightOptions

    options = FlightOptions(
        **{field.name: getattr(args, field.name) for field in fields(FlightOptions)}
    )
    (x, y, _), _, yaw, *_ = trajectories.load(options.trajectory).at(0.0)
    _require("a recording", *_IMAGES)
    world = options.world
    if (options.light, options.texture) != (1.0, 1.0):
        world = str(
            worlds.vary(
                world,
                options.light,
                options.texture,
                run_folder.runs_root() / "worlds" / f"{options.label}.world",
            )
        )
    ros2 = (
        (
            "--ros2",
            "true",
            "--ros2_record",
            "mcap",
            "--ros2_topics",
            rf"/clock|/tf|/tf_static|/drone0/.*|/{options.vehicle}_0/.*",
        )
        if args.ros2
        else ()
    )
    return command.main(
        [
            "fly",
            "xtdrone_slam.agents.trajectory:TrajectoryAgent",
            "--set",
            f"trajectory={options.trajectory}",
            *ros2,
            "--set",
            f"metadata={json.dumps(asdict(options))}",
            "--set",
            f"bag={json.dumps(args.bag)}",
            "--set",
            f"record_from={options.begin}",
            "--vehicles",
            f"{options.vehicle}@{x:.4f},{y:.4f},0,{yaw:.4f}",
            "--world",
            world,
            "--seed",
            str(options.seed),
            "--gps",
            options.gps,
            "--sensors",
            options.sensors(),
            "--name",
            args.name,
        ]
    )


def live(args: Namespace) -> int:
    """Flies on the poses of a system; returns the exit status."""
    from xtdrone_core import command

    from .flight import trajectories
    from .flight.options import FlightOptions

    sensors = FlightOptions(vehicle=args.vehicle, sweep=args.sweep).sensors()
    (x, y, _), _, yaw, *_ = trajectories.load(args.trajectory).at(0.0)
    _require("a flight on the poses of a system", *_EVALUATED)
    return command.main(
        [
            "fly",
            "xtdrone_slam.agents.vision:VisionAgent",
            "--set",
            f"trajectory={args.trajectory}",
            "--set",
            f"system={args.system}",
            "--set",
            f"latency_ms={args.latency_ms}",
            "--set",
            f"gps_off={str(not args.fuse_gps).lower()}",
            "--vehicles",
            f"{args.vehicle}@{x:.4f},{y:.4f},0,{yaw:.4f}",
            "--world",
            args.world,
            "--seed",
            str(args.seed),
            "--sensors",
            sensors,
            "--name",
            args.name,
        ]
    )
