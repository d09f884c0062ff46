"""Subcommand `xtdrone log`: contents and tables of flight logs; `xtdrone plot` draws them."""

from pathlib import Path
from typing import Any

from xtdrone_core import files

from .errors import AutopilotError

EXAMPLES = """examples:
  xtdrone log info runs/latest/ulog/iris_0/log001.ulg
  xtdrone log csv log001.ulg --topic vehicle_attitude --topic battery_status --out tables
"""


# Of the logs in a vehicle's folder, a run's ulog folder, and a run.
_DEPTHS = ("*.ulg", "*/*.ulg", "*/*/*.ulg")


def register(subparsers: Any) -> None:
    """`xtdrone log`: read flight logs (ULog), the workspace's or PX4's."""
    parser = subparsers.add_parser("log", help="read flight logs (ULog)", epilog=EXAMPLES)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    info = actions.add_parser("info", help="summarise a log")
    table = actions.add_parser("csv", help="write a table for each topic")
    table.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="NAME",
        help="only this one; may be given several times",
    )
    for action, run in ((info, _info), (table, _csv)):
        action.add_argument("file", nargs="+", help="a .ulg file, or a folder of them")
        action.set_defaults(run=run)
    table.add_argument("--out", metavar="FOLDER", help="output folder (that of the log)")


def _files(names):
    """The given logs, and those in the given folders."""
    for name in names:
        path = Path(name)
        found = (
            sorted(log for pattern in _DEPTHS for log in path.resolve().glob(pattern))
            if files.is_folder(path)
            else [path]
        )
        if not found:
            raise AutopilotError(f"no .ulg file in '{name}': give a log, or the folder of a run")
        yield from found


def _folder(path, args):
    """Where the files of a log go; logs of several vehicles do not share names."""
    if args.out is None:
        return path.parent
    several = len(list(_files(args.file))) > 1
    return Path(args.out) / (path.parent.name if several else "")


def _info(args):
    from .ulog import reader as ulog_reader

    for path in _files(args.file):
        print("\n".join(ulog_reader.summary(ulog_reader.FlightLog(path))))


def _csv(args):
    from .ulog import reader as ulog_reader

    for path in _files(args.file):
        log = ulog_reader.FlightLog(path)
        for table in ulog_reader.write_csv(log, _folder(path, args), args.topic):
            print(table)
