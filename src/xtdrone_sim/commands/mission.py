"""Subcommand `xtdrone mission`: checks, uploads and downloads QGroundControl's plans."""

import argparse
import time
from typing import TYPE_CHECKING

from xtdrone_autopilot.commands import add_vehicle_options, open_client
from xtdrone_autopilot.errors import AutopilotError
from xtdrone_core.command import Subparsers
from xtdrone_core.scenario import scenario_options

if TYPE_CHECKING:  # slow to import
    from xtdrone_core.mavlink.client import MavlinkClient

EXAMPLES = """examples:
  xtdrone mission check docs/missions/survey.plan
  xtdrone mission check docs/missions/square.plan --world outdoor --vehicle typhoon_h480
  xtdrone mission upload docs/missions/survey.plan --vehicle 1 --start
  xtdrone mission download saved.plan --vehicle 1
"""
_START_TIMEOUT_S = 60.0  # wall time to wait for a vehicle to be ready [s]
_CHECK_S = 3.0  # wall time in which PX4 checks a mission that it was given [s]


def register_mission(subparsers: Subparsers) -> None:
    """Adds `xtdrone mission`."""
    parser = subparsers.add_parser(
        "mission", help="check, upload and download plans", epilog=EXAMPLES
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
    check.add_argument("file", metavar="PLAN", help="as of the option mission: also PLAN*COUNT")
    upload.add_argument("file", metavar="FILE", help="a .plan or a text mission (QGC WPL)")
    download.add_argument("file", metavar="FILE.plan")
    for action in (upload, download):
        add_vehicle_options(action)
    scenario_options.add(check)


def _check(args: argparse.Namespace) -> int:
    from xtdrone_autopilot.navigation.fleet_plans import is_for_each, of_fleet

    from ..mission_check import check_plan
    from ..world import world_of

    scenario = scenario_options.scenario_of(args)
    world = world_of(scenario)
    starts = [vehicle.pos for vehicle in scenario.vehicles]
    plans = of_fleet(args.file, starts, (world.latitude, world.longitude, world.altitude))
    names, types = zip(*((vehicle.name, vehicle.type) for vehicle in scenario.vehicles))
    # A plan for all is checked with the first vehicle of each type.
    each = is_for_each(args.file)
    which = range(len(plans)) if each else sorted(map(types.index, set(types)))
    status = 0
    for i in which:
        report = check_plan(plans[i], scenario, i)
        if len(which) > 1:
            print(f"{names[i]}:")
        print("\n".join(report.lines()))
        status |= bool(report.errors)
    return int(status)


def _upload(args: argparse.Namespace) -> None:
    from xtdrone_autopilot.navigation.mission_items import TYPE_NAME
    from xtdrone_autopilot.navigation.plan_file import load

    plan = load(args.file)  # the vehicle refuses items that it cannot fly
    client = open_client(args)
    try:
        for kind, items in plan.items.items():
            client.upload_items(kind, items)
            print(f"{TYPE_NAME[kind]}: {len(items)} items")
        if args.start:
            _start(client)
    finally:
        client.close()


def _start(client: "MavlinkClient") -> None:
    """Starts the mission; the request is repeated for vehicles that are not ready yet."""
    from xtdrone_core.mavlink.dialect import mavlink

    begin = time.monotonic()
    while True:
        result, text = client.command(mavlink.MAV_CMD_MISSION_START)
        if result == mavlink.MAV_RESULT_ACCEPTED:
            print(f"vehicle {client.vehicle} flies its mission")
            return
        timeout = _START_TIMEOUT_S if "not ready" in text else _CHECK_S
        if time.monotonic() - begin > timeout:
            why = text or mavlink.enums["MAV_RESULT"][result].name
            raise AutopilotError(f"vehicle {client.vehicle} does not start: {why}")
        time.sleep(0.5)


def _download(args: argparse.Namespace) -> None:
    from xtdrone_autopilot.navigation.mission_items import CAPACITY
    from xtdrone_autopilot.navigation.plan_file import Plan, save

    client = open_client(args)
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
