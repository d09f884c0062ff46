"""Real MAVROS on a fleet's offboard links, where it is installed."""

import json
import os
import sys

import pytest

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros
from waiting import LIMIT_S

N = 11  # PX4 has an offboard port of its own for nine, the tenth to twelfth share one
NAMES = [f"iris_{i}" for i in range(N)]
FLOWN = [NAMES[i] for i in (0, 8, 9, 10)]


def mavros_is_installed() -> bool:
    """Whether roslaunch finds MAVROS."""
    try:
        from roslib.packages import find_node
        from rospkg import ResourceNotFound
    except ImportError:
        return False
    try:
        return bool(find_node("mavros", "mavros_node"))
    except ResourceNotFound:
        return False


pytestmark = [
    needs_ros,
    pytest.mark.mavros,
    pytest.mark.skipif(
        not mavros_is_installed(),
        reason="needs MAVROS: source the setup.bash of its workspace (see docs/ros.md)",
    ),
]


@pytest.fixture
def launch(tmp_path):
    """launch(file, *arguments) starts a launch file with real MAVROS and waits for its vehicles."""
    env = environment(free_port(), tmp_path)
    env["ROS_PACKAGE_PATH"] += ":" + os.environ["ROS_PACKAGE_PATH"]
    launched = Launch(Processes(env), tmp_path / "launch.log")
    yield launched
    launched.processes.close()


class Launch:
    """One launch; what it prints goes to a file, since MAVROS prints more than a pipe holds."""

    def __init__(self, processes, log):
        self.processes, self.log = processes, log
        self._running = None

    def __call__(self, file, *arguments):
        port = self.processes.env["ROS_MASTER_URI"].rsplit(":", 1)[1]
        self._running = self.processes.start(
            "sh",
            "-c",
            'exec "$@" >"$0" 2>&1',
            self.log,
            "roslaunch",
            "-p",
            port,
            ROOT / "launch" / file,
            "bridge:=mavros",
            "communication:=false",
            *arguments,
        )
        self.processes.await_vehicles(self._running)

    def report_of(self, user, *arguments):
        """What a user's script reports, and what the launch printed until its end."""
        done = self.processes.run(
            sys.executable, ROOT / "tests/support" / user, *arguments, timeout=2 * LIMIT_S
        )
        self.processes.stop(self._running)
        output = self.log.read_text()
        assert done.returncode == 0, done.stderr[-2000:] + output[-3000:]
        assert "Traceback" not in output
        return json.loads(done.stdout.splitlines()[-1])


PX4 = pytest.param(
    ["autopilot:=px4", "speed:=0.4"],
    id="px4",
    marks=[
        pytest.mark.px4,
        pytest.mark.skipif(
            not os.environ.get("PX4_BUILD"), reason="needs real PX4: set PX4_BUILD (docs/px4.md)"
        ),
    ],
)


@pytest.mark.parametrize("options", [pytest.param([], id="embedded"), PX4])
def test_each_of_eleven_mavros_speaks_with_its_own_vehicle(launch, options):
    launch("multi_vehicle.launch", f"n:={N}", "gps:=rtk", *options)
    report = launch.report_of("mavros_fleet_user.py", *NAMES, "--", *FLOWN)
    assert report["system_ids"] == [[i + 1] for i in range(N)]
    assert report["armed"] == report["up"] == FLOWN


def test_stamps_agree_with_the_clock_once_mavros_has_estimated_its_offset(launch):
    """MAVROS uses the estimate after 500 messages of 10 Hz; its arithmetic is unsigned."""
    launch("single_vehicle.launch", "speed:=3")
    report = launch.report_of("mavros_stamps_user.py")
    assert report["timesync_messages"] > 500
    assert max(map(abs, report["ages"])) < 0.5, report
