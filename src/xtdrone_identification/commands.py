"""Subcommand `xtdrone identify`: parameters of a vehicle from flight logs."""

import math
from argparse import Namespace
from pathlib import Path

from xtdrone_core.command import Subparsers
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type

from .errors import IdentificationError

KNOWN = ("mass", "motor_constant")
EXAMPLES = """logs:
  .ulg                  of this simulation, PX4 SITL or hardware
  .csv                  t, command_0 ..., x, y, z, qx, qy, qz, qw, gyro_x ..., accel_x ...
  .bag, .mcap, .db3     MAVROS's messages, or PX4's

examples:
  xtdrone fly excite --vehicle iris --log identification --speed 0
  xtdrone identify runs/latest/ulog/iris_0/log001.ulg --vehicle iris
  xtdrone identify one.ulg two.ulg --vehicle iris --given mass=1.62 --out my_iris
  xtdrone fly square --vehicle my_iris/model
"""


def register(subparsers: Subparsers) -> None:
    """`xtdrone identify`."""
    parser = subparsers.add_parser(
        "identify", help="identify a vehicle's parameters from flight logs", epilog=EXAMPLES
    )
    parser.add_argument("logs", nargs="+", metavar="LOG", help="ULog, CSV, rosbag or MCAP")
    vehicle = parser.add_argument(
        "--vehicle",
        required=True,
        metavar="VEHICLE",
        help="model with the vehicle's geometry, whose numbers the fit begins with",
    )
    vehicle.completer = _vehicles
    parser.add_argument(
        "--known",
        choices=KNOWN,
        default="mass",
        metavar="NAME",
        help="mass or motor_constant: the one that is taken as it is (mass)",
    )
    parser.add_argument(
        "--given",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter that is not fitted, as mass=1.62; several times",
    )
    parser.add_argument(
        "--held_out",
        type=number_type("held_out", 0.05, 0.9),
        default=0.2,
        metavar="FRACTION",
        help="fraction of the flight, at its end, that is only predicted (0.2)",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="of model/, model.diff, result.json, fit.png and prediction.png (runs/identify_NAME)",
    )
    parser.set_defaults(run=_run)


def _vehicles(**_: object) -> list[str]:
    from xtdrone_core import resources

    return resources.vehicle_names()


def _run(args: Namespace) -> None:
    from tqdm import tqdm

    from xtdrone_core import plot_style
    from xtdrone_sim.vehicles.sdf import load_vehicle

    from . import logs, report, revision
    from .identification import identify
    from .parameters import check

    given = _given(args.given)
    vehicle = load_vehicle(args.vehicle)
    check(vehicle)
    record = logs.read(args.logs, len(vehicle.rotors))
    folder = _folder(args)
    with tqdm(total=100, desc="identify", unit="%", disable=None) as bar:
        found = identify(
            vehicle,
            record,
            known=args.known,
            given=given,
            held_out=args.held_out,
            watch=lambda fraction: bar.update(100 * fraction - bar.n),
        )
    print("\n".join(report.lines(found)))
    file, left = revision.revised(found, args.vehicle)
    title = f"{Path(args.logs[0]).name}, {vehicle.type}"
    difference = folder / "model.diff"
    difference.write_text(file.difference())
    run_folder.write_json(folder / "result.json", report.data(found))
    paths = [
        revision.write(file, folder / "model"),
        difference,
        folder / "result.json",
        plot_style.save(report.draw_fit(found, title), folder / "fit.png"),
        plot_style.save(report.draw_score(found, title), folder / "prediction.png"),
    ]
    print(*left, *paths, sep="\n")


def _given(words: list[str]) -> dict[str, float]:
    out = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            out[name] = float(value)
        except ValueError:
            out[name] = math.nan
        if not (math.isfinite(out[name]) and out[name] > 0.0):
            raise IdentificationError(
                f"--given '{word}' is not NAME=VALUE with a positive number: give for example "
                "mass=1.62"
            )
    return out


def _folder(args: Namespace) -> Path:
    """Makes the folder of results before the fit, so that none is lost."""
    name = f"identify_{Path(args.logs[0]).stem}"
    folder = Path(args.out).expanduser() if args.out else run_folder.runs_root() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failed:
        raise IdentificationError(
            f"cannot write to '{folder}': {failed.strerror}; give another folder with --out"
        ) from failed
    return folder
