"""The command `xtdrone planning`: worlds to plan in, and planners beside each other."""

import argparse
from pathlib import Path

from xtdrone_core import resources
from xtdrone_core.command import Subparsers
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario.options import number_type

from .errors import PlanningError

EXAMPLES = """examples:
  xtdrone planning world woods --seed 3 --out woods_3.world
  xtdrone fly navigate --vehicle iris_depth --world woods_3.world --set goal=56,0,2
  xtdrone planning table --forests 20 --case local=3 --case local=5 --case ompl=3
  xtdrone planning table --forests 20 --case local=2 --people 10
  xtdrone planning exploration --world hall --out runs/exploration
  xtdrone planning faults
  xtdrone planning crossing --forests 10 --n 10 --delay 0.1 --loss 0.1 --out crossing.jsonl
"""
_MAX, _MOST_PEOPLE = 1 << 24, 100


def register(subparsers: Subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser(
        "planning", help="random worlds to plan in, and planners beside each other", epilog=EXAMPLES
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    world = actions.add_parser("world", help="write a random world of a batch as an SDF world")
    name = world.add_argument("name", help="a name from worlds/batch, or a YAML file")
    name.completer = lambda **_: resources.batch_world_names()
    world.add_argument(
        "--seed", type=number_type("seed", 0, 2**62, whole=True), default=0, help="of it (0)"
    )
    world.add_argument(
        "--environment",
        type=number_type("environment", 0, _MAX, whole=True),
        default=0,
        metavar="K",
        help="which of the seed's environments (0)",
    )
    world.add_argument(
        "--people",
        type=number_type("people", 0, _MOST_PEOPLE, whole=True),
        default=0,
        metavar="N",
        help="who walk to and fro there (0)",
    )
    world.add_argument("--out", metavar="FILE", help="the world's file (NAME_SEED.world)")
    world.set_defaults(run=_world)
    table = actions.add_parser("table", help="fly planners through random forests, and compare")
    table.add_argument(
        "--forests",
        type=number_type("forests", 1, 10_000, whole=True),
        default=20,
        help="how many (20)",
    )
    table.add_argument(
        "--first",
        type=number_type("first", 0, _MAX, whole=True),
        default=0,
        help="seed of the first one (0)",
    )
    table.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="PLANNER=SPEED",
        help="a planner, module:Class or FILE.py:Class, and its speed in m/s; may be given often "
        "(local=3)",
    )
    table.add_argument(
        "--people",
        type=number_type("people", 0, _MOST_PEOPLE, whole=True),
        default=0,
        metavar="N",
        help="who walk to and fro in each forest; the vehicle flies at their height (0)",
    )
    table.add_argument(
        "--world", help="a name from worlds/batch (woods, or navigation_forest with people)"
    )
    table.add_argument(
        "--out",
        metavar="FILE",
        help="keep each flight in it, a line of JSON; what it holds is not flown again",
    )
    table.set_defaults(run=_table)
    _add_crossing(actions)
    _add_exploration(actions)
    faults = actions.add_parser(
        "faults", help="fly with lost images, a killed planner, a goal in a wall, in a sealed room"
    )
    faults.set_defaults(run=_faults)


def _add_crossing(actions: Subparsers) -> None:
    crossing = actions.add_parser(
        "crossing", help="fly many vehicles through random forests at once"
    )
    for name, kind, default, what in (
        ("forests", number_type("forests", 1, 10_000, whole=True), 10, "how many"),
        ("first", number_type("first", 0, _MAX, whole=True), 0, "seed of the first one"),
        ("n", number_type("n", 1, 100, whole=True), 10, "vehicles"),
        ("speed", number_type("speed", 0.2, 15.0), 2.5, "largest [m/s]"),
        ("delay", number_type("delay", 0.0, 10.0), 0.1, "of packets between vehicles [s]"),
        ("loss", number_type("loss", 0.0, 1.0), 0.1, "part of the packets that is lost"),
    ):
        crossing.add_argument(f"--{name}", type=kind, default=default, help=f"{what} ({default})")
    crossing.add_argument("--world", default="woods", help="a name from worlds/batch (woods)")
    crossing.add_argument(
        "--out", metavar="FILE", help="keep the flights here, and fly only those that it lacks"
    )
    crossing.set_defaults(run=_crossing)


def _world(args: argparse.Namespace) -> None:
    from .forest import write_world

    path = Path(args.out or f"{Path(args.name).stem}_{args.seed}.world")
    count = write_world(path, args.name, args.seed, args.environment, args.people)
    print(f"{path}: {count} objects")


def _table(args: argparse.Namespace) -> None:
    from .planners.planner import PLANNERS
    from .results import Case, Kept, Scene, summary
    from .table import fly

    cases = []
    for text in args.case or ["local=3"]:
        planner, _, speed = text.rpartition("=")
        if not planner:
            raise PlanningError(f"case '{text}' is not allowed: give PLANNER=SPEED, as in local=3")
        PLANNERS.check(planner)
        cases.append(Case(planner, number_type("speed", 0.2, 15.0)(speed)))
    results = []
    seeds = range(args.first, args.first + args.forests)
    kept = Kept(Path(args.out) if args.out else None)
    world = args.world or ("navigation_forest" if args.people else "woods")
    for result in fly([Scene(world, seed, args.people) for seed in seeds], cases, kept):
        print(result, flush=True)
        results.append(result)
    print(*summary(results), sep="\n")


def _add_exploration(actions: Subparsers) -> None:
    parser = actions.add_parser("exploration", help="explore a world by a tour and by the baseline")
    parser.add_argument(
        "--world", default="hall", help="a name from worlds/, or an SDF file (hall)"
    )
    parser.add_argument(
        "--area",
        default="-18,-12,18,12",
        help="x0,y0,x1,y1 of what is explored [m] (-18,-12,18,12)",
    )
    parser.add_argument("--vehicle", default="iris_depth_small", help="(iris_depth_small)")
    parser.add_argument(
        "--scheme",
        action="append",
        choices=("tour", "nearest"),
        help="may be given often (both, one after the other)",
    )
    parser.add_argument(
        "--seconds",
        type=number_type("seconds", 5.0, 36_000.0),
        default=1200.0,
        help="at most, of each flight (1200)",
    )
    parser.add_argument("--out", metavar="FOLDER", help="(exploration, among the runs)")
    parser.set_defaults(run=_exploration)


def _exploration(args: argparse.Namespace) -> None:
    from .exploration.comparison import HEAD, explore, picture

    folder = Path(args.out) if args.out else run_folder.runs_root() / "exploration"
    try:
        (folder / "plots").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlanningError(f"cannot make '{folder}': {error.strerror}") from error
    flights = []
    print(HEAD, flush=True)
    for scheme in args.scheme or ["tour", "nearest"]:
        flights.append(explore(scheme, args.world, args.area, args.vehicle, args.seconds, folder))
        print(flights[-1], flush=True)
        picture(flights, folder)


def _faults(args: argparse.Namespace) -> int:
    from .faults import HEAD, fly

    print(HEAD, flush=True)
    good = True
    for held in fly():
        print(held, flush=True)
        good &= held.holds
    return 0 if good else 1


def _crossing(args: argparse.Namespace) -> None:
    from .several.crossing import Case, fly, summary

    case = Case(args.n, args.speed, args.delay, args.loss, args.world)
    flights = []
    kept = Path(args.out) if args.out else None
    for flight in fly(case, range(args.first, args.first + args.forests), kept):
        print(flight, flush=True)
        flights.append(flight)
    print(*summary(flights), sep="\n")
