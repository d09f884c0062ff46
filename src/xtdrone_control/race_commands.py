"""The command `xtdrone race`."""

import argparse
from pathlib import Path

from xtdrone_core.command import Subparsers

EXAMPLES = """examples:
  xtdrone race table smooth=first planned=second
  xtdrone race table first second third --plot laps.png
"""


def register(subparsers: Subparsers) -> None:
    """Adds `xtdrone race`."""
    parser = subparsers.add_parser(
        "race", help="compare the laps of pilots on a track", epilog=EXAMPLES
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    table = actions.add_parser("table", help="best laps of runs, with splits", epilog=EXAMPLES)
    table.add_argument(
        "runs",
        metavar="[PILOT=]RUN",
        nargs="+",
        help="up to eight runs on one track, with the pilots' names; else the runs' own",
    )
    table.add_argument("--plot", metavar="FILE", help="draw the laps from above, and the gaps")
    table.set_defaults(run=_table)


def _table(args: argparse.Namespace) -> int:
    from .race_table import draw, lines, read_entries

    entries, track = read_entries(args.runs)
    print(*lines(entries), sep="\n")
    if args.plot:
        from xtdrone_core import plot_style

        plot_style.save(draw(entries, track), Path(args.plot))
    return 0
