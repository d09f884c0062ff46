"""The command `xtdrone slam`: record datasets, run systems on them, evaluate, compare, export."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from xtdrone_core import plot_look, resources
from xtdrone_core.command import Subparsers
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type

from . import actions
from .evaluation.conventions import ALIGNMENTS, DELTA_M, MAX_DIFF_S

Completable: TypeAlias = Any  # an argparse.Action, to which argcomplete adds a completer

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


def register(subparsers: Subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser(
        "slam",
        help="record datasets, run and evaluate visual and laser SLAM",
        description="Benchmarks of visual and laser SLAM.",
        epilog=EXAMPLES,
    )
    choices = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
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
        add(choices)


def _completed(argument: Completable, names: Callable[[], Iterable[str]]) -> None:
    """Lets the shell complete an argument by a function that returns names."""
    argument.completer = lambda **_: list(names())


def _add_flight(parser: ArgumentParser, *options: str) -> None:
    """Adds options of a flight, by their names in FlightOptions, with its defaults."""
    from xtdrone_core import Scenario

    from .flight.options import FlightOptions

    defaults, scenario = FlightOptions(), Scenario.options()
    known = {
        "world": ("a name from worlds/, or an SDF file", resources.world_names),
        "trajectory": (
            "reference, rounds (two laps of the hall with the camera ahead), tour (of the world "
            "hall), aisle (of the world corridor), park (of the world outdoor), a file "
            "(.csv with t,x,y,z,yaw, or .tum), or the run folder of a flight to repeat",
            _trajectories,
        ),
        "seed": ("seed of all random numbers", None),
        "light": ("factor on every lamp and on the ambient light", None),
        "texture": ("fraction of the surfaces that keep their texture, 0 to 1", None),
        "vehicle": ("vehicle type, with a grey stereo pair or a lidar", resources.vehicle_names),
        "sweep": (
            "time of a lidar's scan as a fraction of that between two, in which it is distorted by "
            "the motion; 0: one instant",
            None,
        ),
        "gps": (scenario["gps"][1].help, scenario["gps"][1].names),
        "begin": ("of the recording: hover, after the climb, or ground, at rest before it", None),
    }
    for name in options:
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


def _trajectories() -> Iterable[str]:
    """Returns the names of the built-in trajectories."""
    from .flight import trajectories

    return trajectories.BUILT_IN


def _systems() -> Iterable[str]:
    """Returns the names of the systems."""
    from .benchmark import adapters

    return adapters.names()


def _datasets() -> Iterable[str]:
    """Returns the names of the recorded datasets."""
    from .datasets import dataset

    return dataset.recorded()


def _add_record(subparsers: Subparsers) -> None:
    record = subparsers.add_parser(
        "record", help="fly a trajectory and record stereo pairs or scans"
    )
    flight = "world", "trajectory", "seed", "light", "texture", "vehicle", "gps", "sweep", "begin"
    _add_flight(record, *flight)
    record.add_argument("--bag", action="store_true", help="write bags/flight.bag as well")
    record.add_argument(
        "--ros2", action="store_true", help="publish to ROS 2, and record that as bags/ros2 (MCAP)"
    )
    record.add_argument(
        "--name",
        default="slam",
        help="run folder; the dataset is written to its folder dataset (slam)",
    )
    record.set_defaults(run=actions.record)


def _add_system(parser: ArgumentParser, **options: Any) -> None:  # those of add_argument()
    _completed(
        parser.add_argument(
            "--system",
            help="a name (see xtdrone list systems), or a folder with an adapter.yaml",
            **options,
        ),
        _systems,
    )


def _add_metrics(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--align",
        default=ALIGNMENTS[0],
        choices=ALIGNMENTS,
        help="alignment of the estimate to the truth (se3)",
    )
    parser.add_argument(
        "--max_diff",
        type=number_type("max_diff", 0.0, 1000.0, unit="s"),
        default=MAX_DIFF_S,
        help=f"largest time difference of associated poses [s] ({MAX_DIFF_S:g})",
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


def _add_run(subparsers: Subparsers) -> None:
    run = subparsers.add_parser(
        "run",
        help="run a system on a dataset and evaluate it",
        description="Plays a dataset back to a system and judges each run: good, poor or failed. "
        "The exit status is 0 if all are good, 4 if not, 1 if one could not be "
        "started.",
    )
    add = run.add_argument
    _add_system(run, required=True)
    _completed(
        add(
            "--dataset",
            required=True,
            metavar="DATASET",
            help="run of slam record, or folder with mav0",
        ),
        _datasets,
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
    run.set_defaults(run=actions.run)


def _parameters(parsed_args: Namespace, **_: object) -> list[str]:
    """Returns the parameters of the system on the command line so far, for completion."""
    from .benchmark import adapters
    from .errors import SlamError

    try:
        return [f"{name}=" for name in adapters.load(parsed_args.system or "").parameters]
    except SlamError:
        return []


def _add_campaign(subparsers: Subparsers) -> None:
    campaign = subparsers.add_parser(
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
    campaign.set_defaults(run=actions.campaign)


def _add_compare(subparsers: Subparsers) -> None:
    compare = subparsers.add_parser(
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
    plot_look.add_argument(compare)
    compare.set_defaults(run=actions.compare)


def _add_evaluate(subparsers: Subparsers) -> None:
    evaluate = subparsers.add_parser("evaluate", help="APE and RPE of a trajectory, by evo")
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
    evaluate.set_defaults(run=actions.evaluate)


def _add_export(subparsers: Subparsers) -> None:
    export = subparsers.add_parser(
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
    export.set_defaults(run=actions.export)


def _add_import(subparsers: Subparsers) -> None:
    bag = subparsers.add_parser(
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
    bag.set_defaults(run=actions.import_bag)


def _add_watch(subparsers: Subparsers) -> None:
    watch = subparsers.add_parser("watch", help="show a run in progress in a window or as a PNG")
    run_folder.add_argument(watch)
    watch.add_argument("--png", metavar="FILE", help="draw once to a file; needs no display")
    watch.set_defaults(run=actions.watch)


def _add_install(subparsers: Subparsers) -> None:
    install = subparsers.add_parser(
        "install",
        help="create the environment of a system that needs one",
        description="Installs a system into a virtual environment of its own, below "
        "~/.cache/xtdrone/systems (XTDRONE_SYSTEMS).",
    )
    _completed(
        install.add_argument("system", help="orbslam3, basalt, or a folder with an adapter.yaml"),
        _systems,
    )
    install.add_argument("--again", action="store_true", help="reinstall it if it is installed")
    install.set_defaults(run=actions.install)


def _add_live(subparsers: Subparsers) -> None:
    live = subparsers.add_parser(
        "live",
        help="fly on the poses of a system, without GNSS",
        description="A vehicle with a stereo pair flies a trajectory; the pose of the system is "
        "the estimator's only position source.",
    )
    _add_system(live, default="orb")
    _add_flight(live, "world", "trajectory", "vehicle", "seed", "sweep")
    live.add_argument(
        "--latency_ms",
        type=number_type("latency_ms", 0.0, 10_000.0, unit="ms"),
        default=80.0,
        help="from exposure to estimator (80)",
    )
    live.add_argument("--fuse_gps", action="store_true", help="fuse GNSS in addition to vision")
    live.add_argument("--name", default="slam_live", help="run folder (slam_live)")
    live.set_defaults(run=actions.live)
