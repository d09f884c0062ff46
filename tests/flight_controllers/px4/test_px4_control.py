"""Vehicles on real PX4, commanded over XTDrone's and MAVROS's topics and services."""

import json
import os
import sys

import pytest

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros

pytestmark = [
    needs_ros,
    pytest.mark.px4,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("PX4_BUILD"), reason="needs real PX4: set PX4_BUILD"),
]
# Without a ground station; planes with missions that end in the air.
ALONE = {"NAV_DLL_ACT": 0, "MIS_TKO_LAND_REQ": 0}


@pytest.fixture
def fly(tmp_path):
    """A function: the report of a user's script that flies a vehicle of this type."""
    processes = Processes(environment(free_port(), tmp_path))
    port = processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
    params = tmp_path / "alone.params"
    params.write_text("".join(f"1\t1\t{name}\t{value}\t6\n" for name, value in ALONE.items()))

    def fly(vehicle, script):
        running = processes.start(
            "roslaunch",
            "-p",
            port,
            ROOT / "launch/single_vehicle.launch",
            f"vehicle:={vehicle}",
            "autopilot:=px4",
            "speed:=0",
            "gps:=rtk",
            f"params:={params}",
        )
        processes.await_vehicles(running)
        done = processes.run(sys.executable, ROOT / "tests/support" / script, timeout=300.0)
        output = processes.stop(running)
        assert done.returncode == 0, done.stderr[-2000:] + output[-3000:]
        report = json.loads(done.stdout.splitlines()[-1])
        print(report)  # shown by pytest where a test fails, or by -s
        return report

    yield fly
    processes.close()


def test_a_plane_over_xtdrones_topics(fly):
    """Take-off, a position, hold, a mission from MAVROS's service, landing."""
    report = fly("plane", "xtdrone_plane_user.py")
    assert report["takeoff"] == "takeoff: done" and report["offboard"] == "OFFBOARD: done"
    assert "this vehicle is a plane" in report["transition"]
    furthest, lowest, highest = report["goal"]
    assert furthest < 150.0 and 50.0 < lowest and highest < 75.0
    assert "publish positions on cmd_pose_enu" in report["velocity"]
    assert report["loiter"] == "loiter: done" and report["hold"][0] < 150.0
    assert report["mission"] == "AUTO.MISSION: done"
    assert report["land"] == "land: done" and report["landed_at"] < 0.3
