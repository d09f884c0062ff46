"""Subcommands `xtdrone mission` and `xtdrone params`."""

import time
from typing import Any

from xtdrone_core.errors import XtdroneError
from xtdrone_core.mavlink import key_file
from xtdrone_core.runs import ports
from xtdrone_core.scenario import scenario_options
from xtdrone_core.scenario.options import number_type

from .errors import AutopilotError

MISSION_EXAMPLES = """examples:
  xtdrone mission check docs/missions/survey.plan
  xtdrone mission check docs/missions/square.plan --world outdoor --vehicle typhoon_h480
  xtdrone mission upload docs/missions/survey.plan --vehicle 1 --start
  xtdrone mission download saved.plan --vehicle 1
"""
PARAMS_EXAMPLES = """examples:
  xtdrone params list --vehicle 1
  xtdrone params get MPC_XY_CRUISE
  xtdrone params set MPC_XY_CRUISE 8 --vehicle 3
  xtdrone params save iris.params
  xtdrone params load iris.params --vehicle 2
"""
FLOAT_MAX = 3.4028234e38  # of a parameter, which has 32 bits
START_TIME_OUT_S = 60.0
CHECKED_S = 3.0  # until which PX4 has checked a mission that it was given


def register_mission(subparsers: Any) -> None:
    """`xtdrone mission`: QGroundControl's plans."""
    parser = subparsers.add_parser(
        "mission", help="check, upload and download plans", epilog=MISSION_EXAMPLES
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="length, duration, geofence, obstacles, terrain and "
        "battery; status 1 if it cannot be flown; takes the options of "
        "'xtdrone fly'",
    )
    check.set_defaults(run=_check)
    upload = actions.add_parser("upload", help="into a vehicle of a running simulation")
    upload.add_argument("--start", action="store_true", help="arm and fly it")
    upload.set_defaults(run=_upload)
    download = actions.add_parser("download", help="from a vehicle of a running simulation")
    download.set_defaults(run=_download)
    for action in (check, upload, download):
        action.add_argument("file", metavar="FILE.plan")
    for action in (upload, download):
        _add_vehicle(action)
    scenario_options.add(check)


def register_params(subparsers: Any) -> None:
    """`xtdrone params`: parameters of vehicles of a running simulation."""
    parser = subparsers.add_parser(
        "params", help="read, set, save and load parameters", epilog=PARAMS_EXAMPLES
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    for name, run, text in (
        ("list", _list, "all that PX4 lists"),
        ("get", _get, "one value"),
        ("set", _set, "change one value"),
        ("save", _save, "write all into QGroundControl's file format"),
        ("load", _load, "apply a parameter file"),
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
        _add_vehicle(action)
        action.set_defaults(run=run)


def _parameter_names(**_):
    from .parameters.store import table

    return table()


def _add_vehicle(parser):
    parser.add_argument(
        "--vehicle",
        default=1,
        help="system id, from 1 (1)",
        type=number_type("vehicle", 1, ports.MAX_VEHICLES, whole=True),
    )
    ports.add_option(parser)
    key_file.add_option(parser)


def _check(args):
    from xtdrone_sim.mission_check import check_plan

    from .navigation.plan_file import load

    report = check_plan(load(args.file), scenario_options.scenario_of(args))
    print("\n".join(report.lines()))
    return 1 if report.errors else 0


def _client(args):
    from .mavlink.client import Client

    return Client(
        args.vehicle, ports.Ports(args.instance), key_file.read_key(args.key) if args.key else None
    )


def _upload(args):
    from .navigation.mission_items import TYPE_NAME
    from .navigation.plan_file import load

    plan = load(args.file)  # what it cannot fly, the vehicle refuses
    client = _client(args)
    try:
        for kind, items in plan.items.items():
            client.upload_items(kind, items)
            print(f"{TYPE_NAME[kind]}: {len(items)} items")
        if args.start:
            _start(client)
    finally:
        client.close()


def _start(client):
    """Starts the mission; the request is repeated for vehicles that are not ready yet."""
    from .mavlink.dialect import mavlink

    begin = time.monotonic()
    while True:
        result, text = client.command(mavlink.MAV_CMD_MISSION_START)
        if result == mavlink.MAV_RESULT_ACCEPTED:
            print(f"vehicle {client.vehicle} flies its mission")
            return
        patience = START_TIME_OUT_S if "not ready" in text else CHECKED_S
        if time.monotonic() - begin > patience:
            why = text or mavlink.enums["MAV_RESULT"][result].name
            raise AutopilotError(f"vehicle {client.vehicle} does not start: {why}")
        time.sleep(0.5)


def _download(args):
    from .navigation.mission_items import CAPACITY
    from .navigation.plan_file import Plan, save

    client = _client(args)
    try:
        plan = Plan({kind: client.download_items(kind) for kind in CAPACITY})
    finally:
        client.close()
    save(args.file, plan)
    print(
        f"{args.file}: "
        + ", ".join(str(len(items)) for items in plan.items.values())
        + " items of mission, geofence and rally points"
    )


def _list(args):
    from .parameters.store import table

    client = _client(args)
    try:
        values = client.parameters()
    finally:
        client.close()
    for name, value in sorted(values.items()):
        does_something = name in table() and table()[name].effect
        if does_something or not args.effect:
            print(f"{'*' if does_something else ' '} {name:16s} {value:g}")


def _get(args):
    from .parameters.store import parameter

    p = parameter(args.name)
    client = _client(args)
    try:
        value = client.parameter(args.name)
    finally:
        client.close()
    print(f"{args.name} = {value:g} {p.unit}".rstrip() + f" ({p.effect or p.description})")


def _set(args):
    from .parameters.store import parameter

    p = parameter(args.name)
    client = _client(args)
    try:
        value = client.change_parameter(args.name, args.value, p.type is int)
    finally:
        client.close()
    print(f"{args.name} = {value:g} {p.unit}".rstrip())


def _save(args):
    from .parameters import file as parameter_file

    client = _client(args)
    try:
        values = client.parameters()
    finally:
        client.close()
    parameter_file.write(args.file, args.vehicle, values)
    print(f"{args.file}: {len(values)} parameters of vehicle {args.vehicle}")


def _load(args):
    from .parameters import file as parameter_file

    wanted = parameter_file.settable(parameter_file.read(args.file))
    client = _client(args)
    try:
        changed, refused = _change(client, wanted)
        if changed:  # again, since the old value of one may have limited another
            refused = _change(client, wanted)[1]
    finally:
        client.close()
    print(f"{changed} parameters changed, {len(wanted) - changed - len(refused)} had their value")
    for line in refused:
        print(f"not set: {line}")
    return 1 if refused else 0


def _change(client, wanted):
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
