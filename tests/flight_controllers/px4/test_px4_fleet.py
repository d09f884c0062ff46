"""Mixed fleets of real PX4 through a launch file: each type by its own airframe."""

import json
import os
import socket
import sys

import pytest

from own_ports import PORTS
from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros
from waiting import LIMIT_S
from xtdrone_core.mavlink.dialect import mavlink

pytestmark = [
    needs_ros,
    pytest.mark.px4,
    pytest.mark.skipif(not os.environ.get("PX4_BUILD"), reason="needs real PX4: set PX4_BUILD"),
]
MAV_TYPES = {
    "iris": mavlink.MAV_TYPE_QUADROTOR,
    "plane": mavlink.MAV_TYPE_FIXED_WING,
    "rover": mavlink.MAV_TYPE_GROUND_ROVER,
    "r1_rover": mavlink.MAV_TYPE_GROUND_ROVER,
    "boat": mavlink.MAV_TYPE_SURFACE_BOAT,
}
FLY = {"iris", "plane"}


@pytest.fixture
def processes(tmp_path):
    """Processes with a ROS master of their own."""
    found = Processes(environment(free_port(), tmp_path))
    yield found
    found.close()


def types_at_the_ground_station(n):
    """MAV_TYPEs of n vehicles by their system ids, as QGroundControl's port hears them."""
    found, parser = {}, mavlink.MAVLink(None)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", PORTS.ground_station))
        sock.settimeout(LIMIT_S)
        while len(found) < n:
            for message in parser.parse_buffer(sock.recv(65536)) or ():
                if message.get_type() == "HEARTBEAT" and message.get_srcComponent() == 1:
                    found[message.get_srcSystem()] = message.type
    return found


@pytest.mark.parametrize(
    "vehicles, world",
    [
        ("iris*3, plane*2", "empty"),
        ("iris, rover, r1_rover", "empty"),
        ("boat@0,0,0; boat@0,10,0", "lake"),
    ],
)
def test_each_type_is_on_every_port_and_those_that_fly_take_off(
    processes, tmp_path, vehicles, world
):
    """By the topics of MAVROS, without a ground station that sends."""
    params = tmp_path / "alone.params"
    params.write_text("1\t1\tNAV_DLL_ACT\t0\t6\n")
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    launch = processes.start(
        "roslaunch",
        "-p",
        port,
        ROOT / "launch/multi_vehicle.launch",
        f"vehicles:={vehicles}",
        f"world:={world}",
        "autopilot:=px4",
        "speed:=0",
        f"params:={params}",
    )
    processes.await_vehicles(launch)
    names = processes.parameter("/xtdrone/vehicles")
    types = [name.rsplit("_", 1)[0] for name in names]
    assert types_at_the_ground_station(len(names)) == {
        i + 1: MAV_TYPES[kind] for i, kind in enumerate(types)
    }
    flown = [name for name, kind in zip(names, types) if kind in FLY]
    done = processes.run(
        sys.executable,
        ROOT / "tests/support/mavros_fleet_user.py",
        *names,
        "--",
        *flown,
        timeout=2 * LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert all(i + 1 in ids for i, ids in enumerate(report["system_ids"]))
    assert report["armed"] == report["up"] == flown
