"""The vehicles as others' Gazebo gets them: several spawned in one gzserver, as gazebo_ros does."""

import os
import signal
import subprocess

import pytest
from lxml import etree

from waiting import LIMIT_S, until
from xtdrone_core import resources

ROOT = resources.root()
SETUP = ROOT / ".setup" / "gazebo11" / "env.sh"
VEHICLES = ["iris", "typhoon_h480", "crazyflie", "iris_stereo", "iris_2d_lidar"]

pytestmark = [
    pytest.mark.gazebo,
    pytest.mark.slow,
    pytest.mark.skipif(not SETUP.is_file(), reason="needs Gazebo 11: run scripts/setup_gazebo.sh"),
]


@pytest.fixture
def gazebo(tmp_path):
    """gazebo(words) runs a command in Gazebo's environment, beside a gzserver; it prints to log."""
    env = {**os.environ, "GAZEBO_MODEL_PATH": f"{ROOT / 'models'}", "GAZEBO_IP": "127.0.0.1"}

    def start(words):
        with open(tmp_path / "log", "a") as log:
            return subprocess.Popen(
                ["bash", "-c", f". {SETUP}; {words}"],
                env=env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    start.log = tmp_path / "log"
    server = start(f"exec gzserver --verbose -u {ROOT / 'worlds' / 'empty.world'}")
    until(lambda: "Publicized address" in start.log.read_text(), "gzserver listens", server)
    yield start
    os.killpg(server.pid, signal.SIGINT)
    server.wait(LIMIT_S)


def test_the_classic_launch_file_gives_an_included_iris_its_own_port(gazebo):
    launch = etree.parse(str(ROOT / "launch/px4_gazebo_classic_vehicle.launch"))
    command = launch.find(".//param[@name='sdf']").get("command")
    for name, value in (
        ("dirname", ROOT / "launch"),
        ("arg vehicle", "iris_stereo"),
        ("arg tcp_port", "4567"),
    ):
        command = command.replace(f"$({name})", str(value))
    sdf = gazebo.log.with_name("sdf")
    assert gazebo(f"{command} > {sdf}").wait(LIMIT_S) == 0
    assert etree.fromstring(sdf.read_bytes()).findtext(".//mavlink_tcp_port") == "4567"


@pytest.mark.long
def test_vehicles_of_all_kinds_are_spawned_side_by_side(gazebo):
    """Neither a nested name nor a namespace of one file may spoil the reading of the next."""
    for i in range(2):
        for vehicle in VEHICLES:
            name = f"{vehicle}_{i}"
            sdf = ROOT / "models" / vehicle / "model.sdf"
            gazebo(f"gz model -m {name} --spawn-file {sdf} -x {3 * i}").wait(LIMIT_S)
            found = gazebo.log.with_name(name)

            def there(found=found, name=name):
                gazebo(f"gz model -m {name} -i > {found}").wait(LIMIT_S)
                return f'"{name}"' in found.read_text()

            until(there, f"{name} is in the world")
    said = gazebo.log.read_text()
    assert "Error Code" not in said and "Unable to read sdf" not in said, said
