"""The command `xtdrone slam`: record datasets, run systems on them, evaluate, compare, export."""

from pathlib import Path
from typing import Any

from xtdrone_core.options import number_type

EXAMPLES = """examples:
  xtdrone slam record --world indoor --trajectory reference --name indoor
  xtdrone slam evaluate estimate.tum --reference runs/indoor/dataset/groundtruth.tum
  xtdrone slam run --system klt --dataset runs/indoor/dataset --runs 5
  xtdrone slam campaign benchmarks/slam_indoor.yaml --serial
  xtdrone slam compare runs/slam_klt runs/slam_orb
  xtdrone slam watch runs/latest
  xtdrone slam export runs/indoor/dataset --format kitti --output indoor_kitti
  xtdrone slam import flight.bag --calibration camchain-imucam.yaml --imu imu.yaml --truth /pose \
      --output flight
  xtdrone slam list
  xtdrone slam install orbslam3
  xtdrone slam live --system klt
"""


def register(subparsers: Any) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser("slam", help="record datasets, run and evaluate visual SLAM",
                                   description="Benchmarks of visual SLAM.", epilog=EXAMPLES)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_record(actions)
    _add_evaluate(actions)
    _add_run(actions)
    _add_campaign(actions)
    _add_compare(actions)
    _add_export(actions)
    _add_import(actions)
    _add_watch(actions)
    _add_list(actions)
    _add_install(actions)
    _add_live(actions)


def _add_record(actions):
    from .flight.options import FlightOptions

    defaults = FlightOptions()
    record = actions.add_parser("record", help="fly a trajectory and record a stereo dataset")

    def add(name, text):
        default = getattr(defaults, name)
        kind = str if isinstance(default, str) else number_type(
            name, 0.0, whole=isinstance(default, int))
        record.add_argument(f"--{name}", default=default, type=kind, help=f"{text} ({default})")

    add("world", "a name from worlds/, or an SDF file")
    add("trajectory", "reference, rounds (two laps of the hall with the camera ahead), a file "
        "(.csv with t,x,y,z,yaw, or .tum), or the run folder of a flight to repeat")
    add("seed", "seed of all random numbers")
    add("light", "factor on every lamp and on the ambient light")
    add("texture", "fraction of the surfaces that keep their texture, 0 to 1")
    add("vehicle", "vehicle type, with a grey stereo pair")
    add("gps", "preset of the GNSS receiver")
    record.add_argument("--bag", action="store_true", help="write bags/flight.bag as well")
    record.add_argument("--name", default="slam",
                        help="run folder; the dataset is written to its folder dataset (slam)")
    record.set_defaults(run=_record)


def _add_evaluate(actions):
    from .evaluation.metrics import DELTA_M

    evaluate = actions.add_parser("evaluate", help="APE and RPE of a trajectory, by evo")
    evaluate.add_argument("estimate", metavar="EST.tum")
    evaluate.add_argument("--reference", required=True, metavar="GT.tum", help="true trajectory")
    _add_metrics(evaluate)
    evaluate.add_argument("--delta", type=number_type("delta", 1e-3, 1e6, unit="m"),
                          default=DELTA_M, metavar="M",
                          help=f"path length of the RPE ({DELTA_M:g})")
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    evaluate.set_defaults(run=_evaluate)


def _add_metrics(parser):
    parser.add_argument("--align", default="se3", choices=["se3", "sim3", "none", "origin"],
                        help="alignment of the estimate to the truth (se3)")
    parser.add_argument("--max_diff", type=number_type("max_diff", 0.0, 1000.0, unit="s"),
                        default=0.01,
                        help="largest time difference of associated poses [s] (0.01)")


def _system_names(**_):
    from .benchmark.adapters import names

    return names()


def _add_run(actions):
    run = actions.add_parser("run", help="run a system on a dataset and evaluate it")
    add = run.add_argument
    system = add("--system", required=True, help="a name (see xtdrone slam list), or a folder "
                                                 "with an adapter.yaml")
    system.completer = _system_names
    add("--dataset", required=True, metavar="FOLDER", help="folder with mav0")
    add("--runs", type=number_type("runs", 1, 1000, whole=True), default=5,
        help="number of runs (5)")
    add("--speed", type=number_type("speed", 0.0, 1000.0), default=1.0,
        help="playback rate, 1: the sensor's; 0: wait for the system at each pair, so that none "
             "is dropped, but CPU and latency are not representative (1)")
    add("--bandwidth", type=number_type("bandwidth", 0.0, unit="MB/s"), default=0.0,
        metavar="MB/S",
        help="of the image link; a pair taken during a transmission is lost (unlimited)")
    add("--loss", type=number_type("loss", 0.0, 1.0), default=0.0, metavar="FRACTION",
        help="of pairs lost (0)")
    _add_metrics(run)
    add("--set", action="append", default=[], metavar="NAME=VALUE",
        help="parameter of the system, as YAML; may be repeated")
    add("--gui", action="store_true", help="open a window with trajectory, CPU, memory, features")
    add("--name", help="run folder (slam_SYSTEM)")
    run.set_defaults(run=_run)


def _add_campaign(actions):
    campaign = actions.add_parser(
        "campaign", help="systems x worlds x seeds x parameters, from a YAML file",
        description="Executes all runs of a campaign and writes its report to runs/NAME. An "
                    "interrupted campaign resumes.")
    add = campaign.add_argument
    add("file", metavar="FILE.yaml")
    add("--serial", action="store_true", help="run serially, without Ray")
    add("--address", help="Ray cluster whose machines share the run folder (this machine)")
    add("--cores", type=number_type("cores", 1, 10_000, whole=True),
        help="cores reserved by a run (all: one run at a time)")
    add("--retry", action="store_true", help="repeat invalid runs")
    add("--report", metavar="FOLDER", help="write a second copy of the report there")
    campaign.set_defaults(run=_campaign)


def _add_compare(actions):
    compare = actions.add_parser(
        "compare", help="combine several benchmarks in one report",
        description="Flights with the same truth are combined in one table.")
    compare.add_argument("folders", nargs="+", metavar="RUN",
                         help="run folders of slam run or campaign")
    _add_metrics(compare)
    compare.add_argument("--name", default="slam_compare", help="run folder (slam_compare)")
    compare.set_defaults(run=_compare)


def _add_export(actions):
    export = actions.add_parser(
        "export", help="convert a dataset, or export a flown trajectory",
        description="Formats of a dataset: euroc (ASL folder), tum (RGB-D benchmark), kitti "
                    "(odometry benchmark, rectified), rosbag (ROS 1). Format of a run folder: csv, "
                    "the flown trajectory, for --trajectory of slam record.")
    export.add_argument("source", metavar="FOLDER", help="folder with mav0, or a run folder")
    export.add_argument("--format", required=True,
                        choices=["euroc", "tum", "kitti", "rosbag", "csv"])
    export.add_argument("--output", required=True, metavar="PATH", help="folder or file to write")
    export.set_defaults(run=_export)


def _add_import(actions):
    bag = actions.add_parser(
        "import", help="convert a bag recorded elsewhere to a dataset",
        description="Converts a ROS 1 or ROS 2 bag with a stereo pair and an IMU to a dataset. An "
                    "EuRoC folder needs no import: give it to slam run as --dataset.",
        epilog="example: xtdrone slam import V1_01_easy.bag --calibration camchain-imucam.yaml "
               "--imu imu.yaml --truth /vicon/firefly_sbx/firefly_sbx --output v101")
    bag.add_argument("bag", help="ROS 1 bag file, or ROS 2 bag folder")
    bag.add_argument("--calibration", required=True, metavar="CAMCHAIN.yaml",
                     help="Kalibr's camchain-imucam.yaml, which also names the image topics")
    bag.add_argument("--imu", required=True, metavar="IMU.yaml",
                     help="Kalibr's imu.yaml, which also names the IMU topic")
    bag.add_argument("--truth", required=True, metavar="TOPIC",
                     help="topic of the true pose of the IMU, or a TUM file")
    bag.add_argument("--output", required=True, metavar="FOLDER", help="folder to create")
    bag.set_defaults(run=_import)


def _add_watch(actions):
    watch = actions.add_parser("watch", help="show a run in progress in a window or as a PNG")
    watch.add_argument("folder", metavar="RUN", help="run folder of slam run, campaign or a flight")
    watch.add_argument("--png", metavar="FILE", help="draw once to a file; needs no display")
    watch.set_defaults(run=_watch)


def _add_list(actions):
    listed = actions.add_parser(
        "list", help="list the systems, their inputs and parameters",
        description="Systems in the workspace. Any folder with an adapter.yaml is a system as "
                    "well: give its path instead of a name.")
    listed.set_defaults(run=_list)


def _add_install(actions):
    install = actions.add_parser(
        "install", help="create the environment of a system that needs one",
        description="Installs a system into a virtual environment of its own, below "
                    "~/.cache/xtdrone/systems (XTDRONE_SYSTEMS).",
        epilog="example: xtdrone slam install orbslam3")
    install.add_argument("system", help="orbslam3, basalt, or a folder with an adapter.yaml")
    install.add_argument("--again", action="store_true", help="reinstall it if it is installed")
    install.set_defaults(run=_install)


def _list(args):
    from .benchmark import adapters, environments

    for adapter in map(adapters.load, adapters.names()):
        state = "" if environments.installed(adapter) \
            else f"; not installed: xtdrone slam install {adapter.name}"
        print(f"{adapter.name:12s} {adapter.description} ({', '.join(adapter.inputs)}{state})")
        for key, value in adapter.parameters.items():
            print(f"{'':12s}   --set {key}={value!r}")


def _install(args):
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
    with tqdm(total=2 + bool(adapter.install), bar_format="{desc} |{bar:20}| {elapsed}",
              file=sys.stderr) as bar:
        def progress(step, line):
            bar.set_description_str(f"{adapter.name}: {step} {line[:60]}")
            bar.update(not line)

        folder = environments.install(adapter, progress)
    print(f"installed: {folder}")


def _watch(args):
    from .benchmark import watch

    watch.show(args.folder, args.png)


def _open_window(folder):
    """A process with a window on a run folder."""
    import os
    import subprocess
    import sys

    from xtdrone_core.parent import tied

    return subprocess.Popen(
        [sys.executable, "-m", "xtdrone_core.command", "slam", "watch", str(folder)],
        preexec_fn=tied(),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})


def _evaluate(args):
    import json

    from .evaluation.metrics import METRICS, UNITS, evaluate

    result = evaluate(args.estimate, args.reference, args.align, args.delta, args.max_diff)
    if args.json:
        print(json.dumps({"alignment": result.alignment, "pairs": result.pairs,
                          "statistics": result.statistics}, indent=2))
        return
    print(f"{result.pairs} poses, alignment {result.alignment}, RPE per {args.delta:g} m")
    keys = list(result.statistics[METRICS[0]])
    print(f"{'':24s}" + "".join(f"{key:>12s}" for key in keys))
    for metric in METRICS:
        print(f"{metric + ' [' + UNITS[metric] + ']':24s}" + "".join(
            f"{result.statistics[metric][key]:12.6f}" for key in keys))


def _run(args):
    from xtdrone_core import run_folder

    from .benchmark import campaign
    from .datasets.dataset import Dataset

    choice = campaign.parse_system(args.system, args.set)
    Dataset(args.dataset)  # raises an error, if any, before the run folder is created
    plan = campaign.Campaign(
        choice.label, (choice,), tuple(campaign.parse(
            {"systems": [args.system], "datasets": [args.dataset], "bandwidth": args.bandwidth,
             "loss": args.loss}).conditions), args.runs, args.speed, args.align, args.max_diff)
    folder = run_folder.create(args.name or f"slam_{choice.label}")
    return execute(plan, folder, gui=args.gui, serial=True)


def _campaign(args):
    from xtdrone_core import run_folder

    from .benchmark import campaign

    plan = campaign.load(args.file)
    folder = run_folder.runs_root() / plan.name
    folder.mkdir(parents=True, exist_ok=True)
    return execute(plan, folder, args.report, serial=args.serial, address=args.address,
                    cores=args.cores, retry=args.retry)


def execute(plan: Any, folder: Path | str, report_folder: Path | None = None, gui: bool = False,
            **options: Any) -> Any:
    """Executes a campaign and writes its report; returns 1 if a flight or run failed to start."""
    import shlex
    import sys

    from tqdm import tqdm

    from .benchmark import campaign
    from .errors import SlamError
    from .evaluation import report, results

    window = _open_window(folder) if gui else None
    with tqdm(total=0, unit=" pairs", file=sys.stderr, mininterval=1.0, delay=1e-3) as bar:
        def progress(pairs, total, text):
            if total is not None:
                bar.total = total
            bar.set_description(text, refresh=False)
            bar.update(pairs)

        failures = campaign.execute(plan, folder, progress=progress, **options)
    if window is not None:
        window.terminate()
        window.wait()
    for line in failures[:-1]:
        print(line, file=sys.stderr)
    try:
        flights = results.load(folder, plan.align, plan.max_diff)
    except SlamError as error:
        raise SlamError(failures[-1] if failures else str(error)) from error
    if failures:
        print(failures[-1], file=sys.stderr)
    command = shlex.join(["xtdrone", *sys.argv[1:]])
    for target in filter(None, (folder, report_folder)):
        text = report.save(target, f"SLAM benchmark {plan.name}", flights, command)
    print(text)
    print(f"run folder: {folder}")
    return 1 if failures else 0


def _compare(args):
    from pathlib import Path

    from xtdrone_core import run_folder

    from .evaluation import report, results

    benchmarks = [(Path(folder).name, results.load(folder, args.align, args.max_diff))
                  for folder in args.folders]
    flights = results.merge(benchmarks)
    folder = run_folder.create(args.name)
    title = "Comparison of " + ", ".join(name for name, _ in benchmarks)
    print(report.save(folder, title, flights))
    print(f"run folder: {folder}")


def _export(args):
    import sys
    from pathlib import Path

    from tqdm import tqdm

    from .datasets.dataset import Dataset
    from .datasets.export import export
    from .flight import trajectories

    if args.format == "csv":
        trajectories.write_csv(Path(args.output), trajectories.read_flown(Path(args.source)))
    else:
        dataset = Dataset(args.source)
        with tqdm(total=len(dataset), unit=" pairs", desc=args.format, file=sys.stderr,
                  delay=1e-3) as bar:
            export(dataset, args.format, args.output, bar.update)
    print(args.output)


def _import(args):
    import sys

    from tqdm import tqdm

    from .datasets.importing import import_bag

    with tqdm(total=0, unit=" messages", desc="import", file=sys.stderr, delay=1e-3) as bar:
        def progress(count, total):
            bar.total = total
            bar.update(count - bar.n)

        pairs = import_bag(args.bag, args.calibration, args.imu, args.truth, args.output, progress)
    print(f"{args.output}: {pairs} stereo pairs")


def _record(args):
    import json
    from dataclasses import asdict, fields

    from xtdrone_core import command, run_folder

    from .flight import trajectories, worlds
    from .flight.options import FlightOptions

    options = FlightOptions(**{field.name: getattr(args, field.name)
                               for field in fields(FlightOptions)})
    (x, y, _), _, yaw, *_ = trajectories.load(options.trajectory).at(0.0)
    world = options.world
    if (options.light, options.texture) != (1.0, 1.0):
        world = str(worlds.vary(world, options.light, options.texture,
                                run_folder.runs_root() / "worlds" / f"{options.label}.world"))
    return command.main([
        "fly", "xtdrone_slam.agents.trajectory:TrajectoryAgent",
        "--set", f"trajectory={options.trajectory}",
        "--set", f"metadata={json.dumps(asdict(options))}", "--set", f"bag={json.dumps(args.bag)}",
        "--vehicles", f"{options.vehicle}@{x:.4f},{y:.4f},0,{yaw:.4f}", "--world", world,
        "--seed", str(options.seed), "--gps", options.gps, "--name", args.name])


def _add_live(actions):
    from .flight.options import FlightOptions

    defaults = FlightOptions()
    parser = actions.add_parser(
        "live", help="fly on the poses of a system, without GNSS",
        description="A vehicle with a stereo pair flies a trajectory; the pose of the system is "
        "the estimator's only position source.",
        epilog="example: xtdrone slam live --system klt --trajectory rounds --name klt_live")
    add = parser.add_argument
    system = add("--system", default="orb", help="a name, or a folder with an adapter.yaml (orb)")
    system.completer = _system_names
    add("--world", default=defaults.world,
        help=f"a name from worlds/, or an SDF file ({defaults.world})")
    add("--trajectory", default=defaults.trajectory, help="as for record (reference)")
    add("--vehicle", default=defaults.vehicle,
        help=f"vehicle type, with a grey stereo pair ({defaults.vehicle})")
    add("--seed", type=number_type("seed", 0, whole=True), default=defaults.seed,
        help="seed of all random numbers (1)")
    add("--latency_ms", type=number_type("latency_ms", 0.0, 10_000.0, unit="ms"), default=80.0,
        help="from exposure to estimator (80)")
    add("--gps", action="store_true", help="fuse GNSS in addition to vision")
    add("--name", default="slam_live", help="run folder (slam_live)")
    parser.set_defaults(run=_live)


def _live(args):
    from xtdrone_core import command

    from .flight import trajectories

    (x, y, _), _, yaw, *_ = trajectories.load(args.trajectory).at(0.0)
    return command.main([
        "fly", "xtdrone_slam.agents.vision:VisionAgent", "--set", f"trajectory={args.trajectory}",
        "--set", f"system={args.system}", "--set", f"latency_ms={args.latency_ms}",
        "--set", f"gps_off={str(not args.gps).lower()}",
        "--vehicles", f"{args.vehicle}@{x:.4f},{y:.4f},0,{yaw:.4f}", "--world", args.world,
        "--seed", str(args.seed), "--name", args.name])
