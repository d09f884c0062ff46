"""The command `xtdrone slam`: record datasets, run systems on them, evaluate, compare, export."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from typing import Any

from xtdrone_core import resources
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type
from xtdrone_core.windows import display

EXAMPLES = """examples:
  xtdrone slam record --name indoor
  xtdrone slam run --system klt --dataset indoor --runs 2
  xtdrone slam run --system ./my_slam --dataset indoor --set features=500 --limit ape_percent=2
  xtdrone slam watch latest
  xtdrone slam live --system klt --trajectory rounds
  xtdrone slam install orbslam3
  xtdrone slam campaign benchmarks/slam_indoor.yaml --serial
  xtdrone slam compare slam_klt slam_orb
  xtdrone slam evaluate estimate.tum --reference runs/indoor/dataset/groundtruth.tum
  xtdrone slam export indoor --format kitti --out indoor_kitti
  xtdrone slam import a.bag --calibration camchain-imucam.yaml --imu imu.yaml --truth /pose --out a
"""


def register(subparsers: Any) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser(
        "slam",
        help="record datasets, run and evaluate visual SLAM",
        description="Benchmarks of visual SLAM.",
        epilog=EXAMPLES,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for add in (
        _add_record,
        _add_run,
        _add_watch,
        _add_live,
        _add_install,
        _add_campaign,
        _add_compare,
        _add_evaluate,
        _add_export,
        _add_import,
    ):
        add(actions)


def _completed(argument: Any, names: Callable[[], Iterable[str]]) -> None:
    """Lets the shell complete an argument by a function that returns names."""
    argument.completer = lambda **_: list(names())


def _add_flight(parser: ArgumentParser, *wanted: str) -> None:
    """Adds options of a flight, by their names in FlightOptions, with its defaults."""
    from xtdrone_core import Scenario

    from .flight import trajectories
    from .flight.options import FlightOptions

    defaults, scenario = FlightOptions(), Scenario.options()
    known = {
        "world": ("a name from worlds/, or an SDF file", resources.world_names),
        "trajectory": (
            "reference, rounds (two laps of the hall with the camera ahead), a file "
            "(.csv with t,x,y,z,yaw, or .tum), or the run folder of a flight to repeat",
            lambda: trajectories.BUILT_IN,
        ),
        "seed": ("seed of all random numbers", None),
        "light": ("factor on every lamp and on the ambient light", None),
        "texture": ("fraction of the surfaces that keep their texture, 0 to 1", None),
        "vehicle": ("vehicle type, with a grey stereo pair", resources.vehicle_names),
        "gps": (scenario["gps"][1].help, scenario["gps"][1].names),
    }
    for name in wanted:
        text, names = known[name]
        default = getattr(defaults, name)
        kind: Any = (
            str
            if isinstance(default, str)
            else number_type(name, 0.0, whole=isinstance(default, int))
        )
        usual = default if default != "" else scenario[name][1].unset
        argument = parser.add_argument(
            f"--{name}", default=default, type=kind, help=f"{text} ({usual})"
        )
        if names is not None:
            _completed(argument, names)


def _add_record(actions: Any) -> None:
    record = actions.add_parser("record", help="fly a trajectory and record a stereo dataset")
    _add_flight(record, "world", "trajectory", "seed", "light", "texture", "vehicle", "gps")
    record.add_argument("--bag", action="store_true", help="write bags/flight.bag as well")
    record.add_argument(
        "--ros2", action="store_true", help="publish to ROS 2, and record that as bags/ros2 (MCAP)"
    )
    record.add_argument(
        "--name",
        default="slam",
        help="run folder; the dataset is written to its folder dataset (slam)",
    )
    record.set_defaults(run=_record)


def _add_system(parser: ArgumentParser, **options: Any) -> None:
    from .benchmark import adapters

    _completed(
        parser.add_argument(
            "--system",
            help="a name (see xtdrone list systems), or a folder with an adapter.yaml",
            **options,
        ),
        adapters.names,
    )


def _add_metrics(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--align",
        default="se3",
        choices=["se3", "sim3", "none", "origin"],
        help="alignment of the estimate to the truth (se3)",
    )
    parser.add_argument(
        "--max_diff",
        type=number_type("max_diff", 0.0, 1000.0, unit="s"),
        default=0.01,
        help="largest time difference of associated poses [s] (0.01)",
    )


def _add_limits(parser: ArgumentParser) -> None:
    from xtdrone_core.scenario.options import options_of

    from .evaluation.verdict import Limits

    limits = options_of(Limits)
    _completed(
        parser.add_argument(
            "--limit",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="limit of a good run; may be repeated. "
            + "; ".join(
                f"{name}: {option.help} ({field.default:g}{' ' * bool(option.unit)}{option.unit})"
                for name, (field, option) in limits.items()
            ).replace("%", "%%"),
        ),
        lambda: [f"{name}=" for name in limits],
    )


def _add_run(actions: Any) -> None:
    run = actions.add_parser(
        "run",
        help="run a system on a dataset and evaluate it",
        description="Plays a dataset back to a system and judges each run: good, poor or failed. "
        "The exit status is 0 if all are good, 4 if not, 1 if one could not be "
        "started.",
    )
    add = run.add_argument
    _add_system(run, required=True)
    _add_dataset(
        add(
            "--dataset",
            required=True,
            metavar="DATASET",
            help="run of slam record, or folder with mav0",
        )
    )
    add(
        "--runs",
        type=number_type("runs", 1, 1000, whole=True),
        default=5,
        help="number of runs (5)",
    )
    add(
        "--speed",
        type=number_type("speed", 0.0, 1000.0),
        default=1.0,
        help="playback rate, 1: the sensor's; 0: wait for the system at each pair, so that none "
        "is dropped, but CPU and latency are not representative (1)",
    )
    add(
        "--bandwidth",
        type=number_type("bandwidth", 0.0, unit="MB/s"),
        default=0.0,
        metavar="MB/S",
        help="of the image link; a pair taken during a transmission is lost (unlimited)",
    )
    add(
        "--loss",
        type=number_type("loss", 0.0, 1.0),
        default=0.0,
        metavar="FRACTION",
        help="of pairs lost (0)",
    )
    _add_metrics(run)
    _add_limits(run)
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="parameter of the system, as YAML; may be repeated",
    ).completer = _parameters
    add("--gui", action="store_true", help="open the window of slam watch")
    add("--name", help="run folder (slam_SYSTEM)")
    run.set_defaults(run=_run)


def _add_dataset(argument: Any) -> None:
    from .datasets import dataset

    _completed(argument, dataset.recorded)


def _parameters(parsed_args: Namespace, **_: Any) -> list[str]:
    """Returns the parameters of the system on the command line so far, for completion."""
    from .benchmark import adapters
    from .errors import SlamError

    try:
        return [f"{name}=" for name in adapters.load(parsed_args.system or "").parameters]
    except SlamError:
        return []


def _add_campaign(actions: Any) -> None:
    campaign = actions.add_parser(
        "campaign",
        help="systems x worlds x seeds x parameters, from a YAML file",
        description="Executes all runs of a campaign and writes its report to runs/NAME. An "
        "interrupted campaign resumes. The exit status is that of slam run.",
    )
    add = campaign.add_argument
    add("file", metavar="FILE.yaml")
    add("--serial", action="store_true", help="run serially, without Ray")
    add("--address", help="Ray cluster whose machines share the run folder (this machine)")
    add(
        "--cores",
        type=number_type("cores", 1, 10_000, whole=True),
        help="cores reserved by a run (all: one run at a time)",
    )
    add("--retry", action="store_true", help="repeat runs that failed or are incomplete")
    add("--report", metavar="FOLDER", help="write a second copy of the report there")
    campaign.set_defaults(run=_campaign)


def _add_compare(actions: Any) -> None:
    compare = actions.add_parser(
        "compare",
        help="combine several benchmarks in one report",
        description="Flights with the same truth are combined in one table.",
    )
    _completed(
        compare.add_argument(
            "folders",
            nargs="+",
            metavar="RUN",
            help="runs of slam run or campaign: names, or paths of their folders",
        ),
        run_folder.names,
    )
    _add_metrics(compare)
    _add_limits(compare)
    compare.add_argument("--name", default="slam_compare", help="run folder (slam_compare)")
    compare.set_defaults(run=_compare)


def _add_evaluate(actions: Any) -> None:
    from .evaluation.metrics import DELTA_M

    evaluate = actions.add_parser("evaluate", help="APE and RPE of a trajectory, by evo")
    evaluate.add_argument("estimate", metavar="EST.tum")
    evaluate.add_argument("--reference", required=True, metavar="GT.tum", help="true trajectory")
    _add_metrics(evaluate)
    evaluate.add_argument(
        "--delta",
        type=number_type("delta", 1e-3, 1e6, unit="m"),
        default=DELTA_M,
        metavar="M",
        help=f"path length of the RPE ({DELTA_M:g})",
    )
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    evaluate.set_defaults(run=_evaluate)


def _add_export(actions: Any) -> None:
    export = actions.add_parser(
        "export",
        help="convert a dataset, or export a flown trajectory",
        description="Formats of a dataset: euroc (ASL folder), tum (RGB-D benchmark), kitti "
        "(odometry benchmark, rectified), rosbag (ROS 1). Format of a run: csv, the "
        "flown trajectory, for --trajectory of slam record.",
    )
    _completed(
        export.add_argument("source", metavar="RUN", help="run, or folder with mav0"),
        run_folder.names,
    )
    export.add_argument(
        "--format", required=True, choices=["euroc", "tum", "kitti", "rosbag", "csv"]
    )
    export.add_argument("--out", required=True, metavar="PATH", help="folder or file to write")
    export.set_defaults(run=_export)


def _add_import(actions: Any) -> None:
    bag = actions.add_parser(
        "import",
        help="convert a bag recorded elsewhere to a dataset",
        description="Converts a ROS 1 or ROS 2 bag with a stereo pair and an IMU to a dataset. An "
        "EuRoC folder needs no import: give it to slam run as --dataset.",
    )
    bag.add_argument("bag", help="ROS 1 bag file, or ROS 2 bag folder")
    bag.add_argument(
        "--calibration",
        required=True,
        metavar="CAMCHAIN.yaml",
        help="Kalibr's camchain-imucam.yaml, which also names the image topics",
    )
    bag.add_argument(
        "--imu",
        required=True,
        metavar="IMU.yaml",
        help="Kalibr's imu.yaml, which also names the IMU topic",
    )
    bag.add_argument(
        "--truth",
        required=True,
        metavar="TOPIC",
        help="topic of the true pose of the IMU, or a TUM file",
    )
    bag.add_argument("--out", required=True, metavar="FOLDER", help="folder to create")
    bag.set_defaults(run=_import)


def _add_watch(actions: Any) -> None:
    watch = actions.add_parser("watch", help="show a run in progress in a window or as a PNG")
    run_folder.add_argument(watch)
    watch.add_argument("--png", metavar="FILE", help="draw once to a file; needs no display")
    watch.set_defaults(run=_watch)


def _add_install(actions: Any) -> None:
    from .benchmark import adapters

    install = actions.add_parser(
        "install",
        help="create the environment of a system that needs one",
        description="Installs a system into a virtual environment of its own, below "
        "~/.cache/xtdrone/systems (XTDRONE_SYSTEMS).",
    )
    _completed(
        install.add_argument("system", help="orbslam3, basalt, or a folder with an adapter.yaml"),
        adapters.names,
    )
    install.add_argument("--again", action="store_true", help="reinstall it if it is installed")
    install.set_defaults(run=_install)


def _add_live(actions: Any) -> None:
    live = actions.add_parser(
        "live",
        help="fly on the poses of a system, without GNSS",
        description="A vehicle with a stereo pair flies a trajectory; the pose of the system is "
        "the estimator's only position source.",
    )
    _add_system(live, default="orb")
    _add_flight(live, "world", "trajectory", "vehicle", "seed")
    live.add_argument(
        "--latency_ms",
        type=number_type("latency_ms", 0.0, 10_000.0, unit="ms"),
        default=80.0,
        help="from exposure to estimator (80)",
    )
    live.add_argument("--fuse_gps", action="store_true", help="fuse GNSS in addition to vision")
    live.add_argument("--name", default="slam_live", help="run folder (slam_live)")
    live.set_defaults(run=_live)


def _install(args: Namespace) -> None:
    import sys

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


def _watch(args: Namespace) -> None:
    from .viewing import watch

    watch.show(run_folder.find(args.of_run), args.png)


def _evaluate(args: Namespace) -> None:
    import json

    from .evaluation.metrics import METRICS, UNITS, evaluate

    result = evaluate(args.estimate, args.reference, args.align, args.delta, args.max_diff)
    if args.json:
        print(
            json.dumps(
                {
                    "alignment": result.alignment,
                    "pairs": result.pairs,
                    "statistics": result.statistics,
                },
                indent=2,
            )
        )
        return
    print(f"{result.pairs} poses, alignment {result.alignment}, RPE per {args.delta:g} m")
    keys = list(result.statistics[METRICS[0]])
    print(f"{'':24s}" + "".join(f"{key:>12s}" for key in keys))
    for metric in METRICS:
        print(
            f"{metric + ' [' + UNITS[metric] + ']':24s}"
            + "".join(f"{result.statistics[metric][key]:12.6f}" for key in keys)
        )


def _run(args: Namespace) -> int:
    from .benchmark import campaign, execution
    from .datasets import dataset
    from .errors import SlamError
    from .evaluation import verdict

    if args.gui:
        display.require_named(SlamError, "leave --gui away, and draw the run by slam watch --png")
    choice = campaign.parse_system(args.system, args.set)
    limits = verdict.parse_limits(args.limit)
    folder = dataset.find(args.dataset)
    dataset.Dataset(folder)  # raises an error, if any, before the run folder is created
    conditions = campaign.parse(
        {
            "systems": [args.system],
            "datasets": [str(folder)],
            "bandwidth": args.bandwidth,
            "loss": args.loss,
        }
    ).conditions
    plan = campaign.Campaign(
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
        plan, run_folder.create(args.name or f"slam_{choice.label}"), gui=args.gui, serial=True
    )


def _campaign(args: Namespace) -> int:
    from .benchmark import campaign, execution

    plan = campaign.load(args.file)
    folder = run_folder.runs_root() / plan.name
    folder.mkdir(parents=True, exist_ok=True)
    return execution.execute(
        plan,
        folder,
        args.report,
        serial=args.serial,
        address=args.address,
        cores=args.cores,
        retry=args.retry,
    )


def _compare(args: Namespace) -> int:
    from .benchmark import execution
    from .evaluation import results, verdict

    limits = verdict.parse_limits(args.limit)
    folders = [run_folder.find(name).resolve() for name in args.folders]
    benchmarks = execution.evaluate(folders, args.align, args.max_diff, limits)
    names = [folder.name for folder in folders]
    return execution.conclude(
        run_folder.create(args.name),
        "Comparison of " + ", ".join(names),
        results.merge(list(zip(names, benchmarks))),
    )


def _export(args: Namespace) -> None:
    import sys
    from pathlib import Path

    from tqdm import tqdm

    from .datasets import dataset
    from .datasets.export import export
    from .flight import trajectories

    if args.format == "csv":
        flown = trajectories.read_flown(run_folder.find(args.source))
        trajectories.write_csv(Path(args.out), flown)
    else:
        source = dataset.Dataset(dataset.find(args.source))
        with tqdm(
            total=len(source),
            unit=" pairs",
            desc=args.format,
            file=sys.stderr,
            delay=1e-3,
            disable=None,
        ) as bar:
            export(source, args.format, Path(args.out), lambda: bar.update())
    print(args.out)


def _import(args: Namespace) -> None:
    import sys

    from tqdm import tqdm

    from .datasets.importing import import_bag

    with tqdm(
        total=0, unit=" messages", desc="import", file=sys.stderr, delay=1e-3, disable=None
    ) as bar:

        def progress(count: int, total: int) -> None:
            bar.total = total
            bar.update(count - bar.n)

        pairs = import_bag(args.bag, args.calibration, args.imu, args.truth, args.out, progress)
    print(f"{args.out}: {pairs} stereo pairs")


def _record(args: Namespace) -> int:
    import json
    from dataclasses import asdict, fields

    from xtdrone_core import command

    from .flight import trajectories, worlds
    from .flight.options import FlightOptions

    options = FlightOptions(
        **{field.name: getattr(args, field.name) for field in fields(FlightOptions)}
    )
    (x, y, _), _, yaw, *_ = trajectories.load(options.trajectory).at(0.0)
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
            "--vehicles",
            f"{options.vehicle}@{x:.4f},{y:.4f},0,{yaw:.4f}",
            "--world",
            world,
            "--seed",
            str(options.seed),
            "--gps",
            options.gps,
            "--name",
            args.name,
        ]
    )


def _live(args: Namespace) -> int:
    from xtdrone_core import command

    from .flight import trajectories

    (x, y, _), _, yaw, *_ = trajectories.load(args.trajectory).at(0.0)
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
            "--name",
            args.name,
        ]
    )
