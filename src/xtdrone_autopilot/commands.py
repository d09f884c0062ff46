"""Subcommands `xtdrone log` and `xtdrone params`; `xtdrone plot` draws flight logs."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xtdrone_core import files
from xtdrone_core.command import Subparsers
from xtdrone_core.errors import XtdroneError
from xtdrone_core.mavlink import key_file
from xtdrone_core.runs import ports
from xtdrone_core.scenario.options import number_type

from .errors import AutopilotError

if TYPE_CHECKING:
    from .mavlink.client import Client

LOG_EXAMPLES = """examples:
  xtdrone log info runs/latest/ulog/iris_0/log001.ulg
  xtdrone log csv log001.ulg --topic vehicle_attitude --topic battery_status --out tables
"""
PARAMS_EXAMPLES = """examples:
  xtdrone params list --vehicle 1
  xtdrone params get MPC_XY_CRUISE
  xtdrone params set MPC_XY_CRUISE 8 --vehicle 3
  xtdrone params save iris.params
  xtdrone params load iris.params --vehicle 2
"""
FLOAT_MAX = 3.4028234e38  # largest value of a parameter, which has 32 bits
# Patterns of the logs in a vehicle's folder, in a run's ulog folder, and in a run.
_DEPTHS = ("*.ulg", "*/*.ulg", "*/*/*.ulg")


def register_log(subparsers: Subparsers) -> None:
    """`xtdrone log`: read flight logs (ULog), the workspace's or PX4's."""
    parser = subparsers.add_parser("log", help="read flight logs (ULog)", epilog=LOG_EXAMPLES)
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


def _files(names: Iterable[str]) -> Iterator[Path]:
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


def _folder(path: Path, args: argparse.Namespace) -> Path:
    """Returns the folder for the files of a log; logs of several vehicles do not share names."""
    if args.out is None:
        return path.parent
    several = len(list(_files(args.file))) > 1
    return Path(args.out) / (path.parent.name if several else "")


def _info(args: argparse.Namespace) -> None:
    from .ulog import reader as ulog_reader

    for path in _files(args.file):
        print("\n".join(ulog_reader.summary(ulog_reader.FlightLog(path))))


def _csv(args: argparse.Namespace) -> None:
    from .ulog import reader as ulog_reader

    for path in _files(args.file):
        log = ulog_reader.FlightLog(path)
        for table in ulog_reader.write_csv(log, _folder(path, args), args.topic):
            print(table)


def register_params(subparsers: Subparsers) -> None:
    """`xtdrone params`: parameters of vehicles of a running simulation."""
    parser = subparsers.add_parser(
        "params", help="read, set, save and load parameters", epilog=PARAMS_EXAMPLES
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    for name, run, text in (
        ("list", _list, "all that PX4 lists"),
        ("get", _get, "one value"),
        ("set", _set, "change one value"),
        ("save", _save_params, "write all into QGroundControl's file format"),
        ("load", _load_params, "apply a parameter file"),
    ):
        action = actions.add_parser(name, help=text)
        if name in ("get", "set"):
            action.add_argument("name").completer = _parameter_names
        if name == "set":
            action.add_argument("value", type=number_type("value", -FLOAT_MAX, FLOAT_MAX))
        if name == "list":
            action.description = (
                "All parameters that PX4 lists in a multirotor. A * marks those "
                "that do something in the embedded flight stack; it keeps the "
                "others, so that they can be set, saved and read back."
            )
            action.add_argument("--effect", action="store_true", help="only those marked *")
        if name in ("save", "load"):
            action.add_argument("file", metavar="FILE.params")
        add_vehicle_options(action)
        action.set_defaults(run=run)


def _parameter_names(**_: object) -> Mapping[str, Any]:
    from .parameters.store import table

    return table()


def add_vehicle_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which vehicle of which simulation is meant."""
    parser.add_argument(
        "--vehicle",
        default=1,
        help="system id, from 1 (1)",
        type=number_type("vehicle", 1, ports.MAX_VEHICLES, whole=True),
    )
    ports.add_option(parser)
    key_file.add_option(parser)


def open_client(args: argparse.Namespace) -> "Client":
    """A client of the vehicle that the options name."""
    from .mavlink.client import Client

    return Client(
        args.vehicle, ports.Ports(args.instance), key_file.read_key(args.key) if args.key else None
    )


def _list(args: argparse.Namespace) -> None:
    from .parameters.store import table

    client = open_client(args)
    try:
        values = client.parameters()
    finally:
        client.close()
    for name, value in sorted(values.items()):
        does_something = name in table() and table()[name].effect
        if does_something or not args.effect:
            print(f"{'*' if does_something else ' '} {name:16s} {value:g}")


def _get(args: argparse.Namespace) -> None:
    from .parameters.store import parameter

    p = parameter(args.name)
    client = open_client(args)
    try:
        value = client.parameter(args.name)
    finally:
        client.close()
    print(f"{args.name} = {value:g} {p.unit}".rstrip() + f" ({p.effect or p.description})")


def _set(args: argparse.Namespace) -> None:
    from .parameters.store import parameter

    p = parameter(args.name)
    client = open_client(args)
    try:
        value = client.change_parameter(args.name, args.value, p.type is int)
    finally:
        client.close()
    print(f"{args.name} = {value:g} {p.unit}".rstrip())


def _save_params(args: argparse.Namespace) -> None:
    from .parameters import file as parameter_file

    client = open_client(args)
    try:
        values = client.parameters()
    finally:
        client.close()
    parameter_file.write(args.file, args.vehicle, values)
    print(f"{args.file}: {len(values)} parameters of vehicle {args.vehicle}")


def _load_params(args: argparse.Namespace) -> int:
    from .parameters import file as parameter_file

    wanted = parameter_file.settable(parameter_file.read(args.file))
    client = open_client(args)
    try:
        changed, refused = _change(client, wanted)
        if changed:  # again, since the old value of one may have limited another
            refused = _change(client, wanted)[1]
    finally:
        client.close()
    print(
        f"{changed} parameters changed, {len(wanted) - changed - len(refused)} had their value"
        + f", {len(refused)} not set" * bool(refused)
    )
    for line in refused:
        print(f"not set: {line}")
    return 1 if refused else 0


def _change(client: "Client", wanted: Mapping[str, float]) -> tuple[int, list[str]]:
    """Sets what differs; returns how many were, and a line for each that was refused."""
    from .parameters.store import parameter, to_bits

    has, changed, refused = client.parameters(), 0, []
    for name, value in wanted.items():
        try:
            p = parameter(name)
            if name not in has or to_bits(p, has[name]) != to_bits(p, value):
                client.change_parameter(name, value, p.type is int)
                changed += 1
        except XtdroneError as error:
            refused.append(str(error))
    return changed, refused
