"""The command `xtdrone challenge`: judge teams, compare and verify their results."""

import argparse
from pathlib import Path
from typing import Any

from xtdrone_core import files, registry
from xtdrone_core.command import Subparsers
from xtdrone_core.errors import MISSED
from xtdrone_core.outputs import cannot_write
from xtdrone_core.runs import run_folder

from .declarations import CHALLENGES, DOORS
from .errors import ChallengeError

EXAMPLES = """examples:
  xtdrone challenge list
  xtdrone challenge run search_and_land --seeds 3
  xtdrone challenge run forest_dash --team my_team.py:Dasher --seeds 20
  xtdrone challenge run delivery_in_wind --team 'mavlink:my_team.py --fast' --seeds 3
  xtdrone challenge table runs/challenge_*/result.json --html table.html
  xtdrone challenge verify runs/challenge_search_and_land/result.json
"""
SHORTEST_KEY = 16  # bytes


def register(subparsers: Subparsers) -> None:
    """Adds the subcommand to the `xtdrone` command."""
    parser = subparsers.add_parser(
        "challenge", help="enter a challenge, judge it, verify results", epilog=EXAMPLES
    )
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    add = actions.add_parser("list", help="challenges and their rules").set_defaults
    add(run=lambda args: list_challenges())
    _add_run(actions)
    _add_table(actions)
    _add_verify(actions)


def _add_run(actions: Subparsers) -> None:
    run = actions.add_parser("run", help="judge a team over several seeds", epilog=EXAMPLES)
    name = run.add_argument("name", metavar="NAME", help=", ".join(CHALLENGES.names()))
    name.completer = lambda **_: CHALLENGES.names()
    team = run.add_argument(
        "--team",
        help="an Agent's name, module:Class or FILE.py:Class; a program: mavlink:COMMAND, "
        "ros1:COMMAND or ros2:COMMAND, whose first word may be a file .py, .launch or .launch.py "
        "(the baseline)",
    )
    team.completer = lambda **_: [*registry.AGENTS.names(), *(f"{door}:" for door in DOORS)]
    run.add_argument("--seeds", type=_count, default=20, help="how many flights (20)")
    run.add_argument(
        "--patience",
        type=float,
        default=600.0,
        metavar="S",
        help="wall time after which a flight counts as hung (600)",
    )
    _add_key(run)
    run.set_defaults(run=run_challenge)


def _add_table(actions: Subparsers) -> None:
    table = actions.add_parser("table", help="results beside each other", epilog=EXAMPLES)
    table.add_argument("results", nargs="+", metavar="FILE", help="result.json of runs")
    table.add_argument("--html", type=Path, metavar="FILE", help="write a page as well")
    table.set_defaults(run=show_table)


def _add_verify(actions: Subparsers) -> None:
    verify = actions.add_parser(
        "verify", help="fly a result again; Agents bit for bit", epilog=EXAMPLES
    )
    verify.add_argument("result", metavar="FILE", help="result.json of a run")
    verify.add_argument("--patience", type=float, default=600.0, metavar="S", help="as of run")
    _add_key(verify)
    verify.set_defaults(run=verify_result)


def _add_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="an organiser's secret: draws the seeds and signs the result",
    )


def _count(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"{value} is not allowed: give 1 to 1000")
    return value


def list_challenges() -> int:
    """Prints the rules of each."""
    for name in CHALLENGES.names():
        challenge = CHALLENGES.load(name)
        print(
            f"{name} (baseline: {challenge.baseline})\n\n    {(challenge.__doc__ or '').strip()}\n"
        )
    return 0


def run_challenge(args: argparse.Namespace) -> int:
    """Judges a team, and leaves result.json."""
    from . import result

    key = _read_key(args.key)
    CHALLENGES.check(args.name)
    team = args.team or CHALLENGES.load(args.name).baseline
    folder = run_folder.create(f"challenge_{args.name.rpartition(':')[2]}")
    seeds = result.seeds_of(args.name, args.seeds, key)
    judged = _judged(args.name, team, seeds, folder, args.patience)
    made = result.compose(args.name, team, judged, key)
    result.write(folder / "result.json", made)
    print(f"score {made['score']:.1f} of 100; {folder / 'result.json'}")
    return 0 if all(flight["status"] == "done" for flight in judged) else MISSED


def show_table(args: argparse.Namespace) -> int:
    """Prints results beside each other."""
    from . import result, table

    results = [result.read(path) for path in args.results]
    print(table.text(results))
    if args.html:
        try:
            args.html.write_text(table.page(results))
        except OSError as error:
            raise cannot_write(args.html, error, ChallengeError) from error
    return 0


def verify_result(args: argparse.Namespace) -> int:
    """Flies a result again; status 4 where anything differs."""
    from . import result

    key = _read_key(args.key)
    claimed = result.read(args.result)
    if not result.is_signed(claimed, key):
        raise ChallengeError(
            f"the signature of '{args.result}' does not fit its content"
            + (" and the key" if key else "; with an organiser's key, give --key")
        )
    seeds = [flight["seed"] for flight in claimed["flights"]]
    folder = run_folder.create(f"verify_{claimed['challenge'].rpartition(':')[2]}")
    judged = _judged(claimed["challenge"], claimed["team"], seeds, folder, args.patience)
    flown = result.compose(claimed["challenge"], claimed["team"], judged, key)
    different, found = result.again(claimed, flown)
    print(f"not as claimed: {', '.join(different)}" if different else found)
    return MISSED if different else 0


def _judged(
    name: str, team: str, seeds: list[int], folder: Path, patience: float
) -> list[dict[str, Any]]:
    from .judge import check_team
    from .run import flights

    check_team(team)  # before the first flight
    judged = []
    for flight in flights(name, team, seeds, folder, patience):
        judged.append(flight)
        words = [f"{key} {value:g}" for key, value in flight["figures"].items()]
        line = [f"seed {flight['seed']}: {flight['points']:.1f} points, {flight['status']}"]
        print(" ".join([*line, *words, flight["reason"]]).rstrip(), flush=True)
    return judged


def _read_key(path: Path | None) -> bytes | None:
    if path is None:
        return None
    key = files.read_bytes(path, "key", error=ChallengeError)
    if len(key) < SHORTEST_KEY:
        raise ChallengeError(
            f"key '{path}' has {len(key)} bytes: give {SHORTEST_KEY} or more, as of "
            f"`head -c 32 /dev/urandom > {path}`"
        )
    return key
