"""The command `xtdrone campaign`: many flights, one table."""

import argparse
import contextlib
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xtdrone_core import Scenario, XtdroneError, extras, registry
from xtdrone_core.command import Subparsers
from xtdrone_core.errors import MISSED
from xtdrone_core.runs import run_folder
from xtdrone_core.scenario import scenario_options
from xtdrone_core.scenario.options import number_type

if TYPE_CHECKING:
    from .journal import Journal
    from .plan import Plan

EXAMPLES = """examples:
  xtdrone campaign square --vary wind=0..12/2 --vary gps=rtk,m8n --seeds 20
  xtdrone campaign my_scenario.yaml --vary MPC_XY_P=0.7,0.95,1.2 --vary gust=0,4,8
  xtdrone campaign formation --n 9 --vary formations=cube,sphere --seeds 1,5,9
  xtdrone campaign square --vary dryden=0..8/2 --seeds 50 --ray 10.0.0.1:6379
Repeat a command that was interrupted: it continues where it ended.
"""


def register(subparsers: Subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser(
        "campaign",
        help="fly one scenario with varied options and seeds, in one table",
        description="Flies every combination of the varied values with every seed, on all cores. "
        "Ends in a table of flights (CSV, and Parquet where pyarrow is installed), a "
        "summary with 95 % intervals and plots. The exit status is 0 if all flights "
        "succeed, else 4.",
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    subject = add(
        "subject",
        metavar="SCENARIO",
        help="a scenario's YAML file, or an Agent: "
        f"{', '.join(registry.AGENTS.names())}, module:Class or FILE.py:Class",
    )
    subject.completer = lambda **_: registry.AGENTS.names()
    varied = add(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=VALUES",
        help="a quantity and its values: FROM..TO/STEP, FROM..TO of whole numbers, or "
        "A,B,C; an option of the scenario or of the Agent, KIND.NAME of a "
        "sensor, a parameter of PX4, gust or dryden [m/s]; wind may be one number, "
        "to the east; may be repeated",
    )
    varied.completer = complete_names
    add(
        "--seeds",
        default="1",
        metavar="SEEDS",
        help="how many, from the scenario's seed on, or a list 1,5,9, or a range 1..20 (1)",
    )
    agent = add(
        "--agent", help="that flies a scenario's file (mission where it has one, else square)"
    )
    agent.completer = lambda **_: registry.AGENTS.names()
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="option of the Agent, for all flights; see xtdrone fly AGENT --help",
    )
    add(
        "--longest",
        type=number_type("longest", 0.1, 1e6, unit="s"),
        default=600.0,
        metavar="SECONDS",
        help="simulated time after which a flight is ended [s] (600)",
    )
    add(
        "--workers",
        type=number_type("workers", 1, 1000, whole=True),
        metavar="COUNT",
        help="processes on this machine (one for each core)",
    )
    add(
        "--time_out",
        type=number_type("time_out", 1.0, 1e6, unit="s"),
        default=3600.0,
        metavar="SECONDS",
        help="wall time after which a worker that does not answer is ended [s] (3600)",
    )
    add(
        "--ray",
        metavar="ADDRESS",
        help="fly on a Ray cluster, HOST:PORT, or local for Ray on "
        "this machine, instead of own processes",
    )
    add(
        "--batch",
        action="store_true",
        help="fly squares on the true state, the seeds of a "
        "combination in one batch, without sensors, estimator, take-off and landing",
    )
    add("--out", metavar="FOLDER", help="results go to FOLDER/campaign (runs/campaign_NAME)")
    add("--folders", action="store_true", help="keep the run folder of each flight, with its logs")
    add("--retry_failed", action="store_true", help="fly those again that have failed by an error")
    scenario_options.add(parser)
    parser.set_defaults(run=_run)


def complete_names(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
    """Completes --vary: names, then the words that a value may be."""
    from . import plan

    try:
        agent, _given = plan.subject(parsed_args)
        known = plan.quantities(registry.AGENTS.load(agent), parsed_args.set or [])
        name, equals, _value = prefix.partition("=")
        if not equals:
            return [f"{each}=" for each in known]
        declared = scenario_options.declared()
        option = declared[name][1] if name in declared else None
        offered = () if option is None else option.choices or option.names or ()
        return [f"{name}={word}" for word in (offered() if callable(offered) else offered) if word]
    except (XtdroneError, TypeError, AttributeError):  # tab completion must not print anything
        return []


def _run(args: argparse.Namespace) -> int:
    from . import plan, report, table
    from .flight import FAILED, GOOD
    from .journal import Journal

    made = plan.make(args)
    folder = _folder(args)
    command = shlex.join(["xtdrone", *sys.argv[1:]])
    made.keep(folder, command)
    with Journal(folder, len(made)) as journal:
        again = {FAILED} if args.retry_failed else set()
        waiting = [
            k
            for k in range(len(made))
            if k not in journal.results or journal.results[k].status in again
        ]
        if waiting:
            fly_missing(args, made, folder, journal, waiting)
        flights_table = table.collect(made, journal.results)
        written = table.write(folder, flights_table)
        table.write_timing(folder, journal.results)
    written += report.write(folder, flights_table, command)[:1]
    good = flights_table.columns["status"].count(GOOD)
    print(f"{good} of {len(flights_table)} flights succeeded")
    if not any(path.suffix == ".parquet" for path in written):
        print(f"no Parquet table: {extras.install('campaign')}, and repeat the command")
    print("\n".join(f"{path.suffix[1:] + ':':9}{path}" for path in written))
    return 0 if good == len(flights_table) else MISSED


def _folder(args: argparse.Namespace) -> Path:
    """Returns FOLDER/campaign; makes it where it does not exist."""
    name = args.name or f"campaign_{Path(args.subject.split(':')[-1]).stem}"
    run_folder.check_name(name)
    folder = (Path(args.out).expanduser() if args.out else run_folder.runs_root() / name).absolute()
    (folder / "campaign").mkdir(parents=True, exist_ok=True)
    return folder / "campaign"


def fly_missing(
    args: argparse.Namespace, made: "Plan", folder: Path, journal: "Journal", waiting: list[int]
) -> None:
    """Flies what is waiting, with a progress bar; each result goes to the journal."""
    from tqdm import tqdm

    from xtdrone_sim.warm_up import ensure_warm

    from .batch import MAX_BATCH, fly_batch
    from .flight import FAILED, GOOD, Result, fly_each
    from .runners import ONE_THREAD, ProcessRunner

    # What other combinations need is compiled by the first worker that comes to it.
    ensure_warm(Scenario.from_dict(dict(made.flights[0].scenario)), telemetry=False)
    function, largest = (fly_batch, MAX_BATCH) if args.batch else (fly_each, 1)
    runner: Any  # a Runner, each of whose iterators can be closed
    if args.ray:
        from .cluster import LOCAL, RayRunner

        runner = RayRunner(
            function, None if args.ray == LOCAL else args.ray, environment=ONE_THREAD
        )
    else:
        runner = ProcessRunner(function, args.workers or os.cpu_count() or 1, args.time_out)
    folders = folder.parent / "flights" if args.folders else None
    good = sum(result.status == GOOD for result in journal.results.values())
    groups = made.groups(waiting, largest)
    tasks = [[made.flight(k, folders) for k in group] for group in groups]
    with (
        contextlib.closing(runner.run(tasks)) as flown,
        tqdm(
            total=len(made),
            initial=len(made) - len(waiting),
            unit=" flights",
            desc="campaign",
            file=sys.stderr,
            delay=1e-3,
            disable=None,
        ) as bar,
    ):
        for done in flown:
            group = groups[done.index]
            for k, result in zip(group, done.value or [Result(FAILED, done.error)] * len(group)):
                journal.add(k, result)
                good += result.status == GOOD
            bar.set_postfix_str(f"{good} good", refresh=False)
            bar.update(len(group))
