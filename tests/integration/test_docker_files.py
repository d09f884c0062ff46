"""What can be known about docker/ and the classic launch files without an engine or MAVROS."""

import os
import subprocess

import pytest
import yaml
from lxml import etree

from ros_fixtures import needs_ros
from xtdrone_core import resources
from xtdrone_core.runs.ports import Ports

ROOT = resources.root()
COMPOSE = sorted((ROOT / "docker").glob("compose*.yaml"))


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_compose_files_name_only_what_exists(path):
    data = yaml.safe_load(path.read_text())
    volumes = set(data.get("volumes", {}))
    for service in data["services"].values():
        build = service.get("build")
        if build is not None:
            context = (path.parent / build["context"]).resolve()
            assert context == ROOT and (context / build["dockerfile"]).is_file()
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in volumes or source.startswith("/")
        for other in service.get("depends_on", ()):
            assert other in data["services"]
    base = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())
    assert set(data["services"]) <= set(base["services"])


def test_px4_is_a_published_image_and_nothing_builds_it():
    service = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]["px4_0"]
    assert service["image"].startswith("px4io/px4-sitl:") and "build" not in service
    for path in (ROOT / "docker").glob("*Dockerfile"):
        assert "px4" not in path.read_text().lower()


def test_the_entry_point_runs_a_command_in_the_environment():
    done = subprocess.run(
        [ROOT / "docker/entrypoint.sh", "xtdrone", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("xtdrone")


@pytest.fixture
def gz(tmp_path, monkeypatch):
    """A stand-in for Gazebo's `gz sdf -p FILE`, for a file without an <include>."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "gz"
    program.write_text('#!/bin/sh\nexec cat "$3"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


def test_classic_launch_files_are_well_formed_and_their_sed_finds_the_port(gz):
    for path in (ROOT / "launch").glob("px4_gazebo_classic*.launch"):
        assert etree.parse(str(path)).getroot().tag == "launch"
    launch = etree.parse(str(ROOT / "launch/px4_gazebo_classic_vehicle.launch"))
    command = launch.find(".//param[@name='sdf']").get("command")
    command = command.replace("$(arg tcp_port)", "4567").replace("$(arg vehicle)", "iris")
    text = subprocess.run(
        command.replace("$(dirname)", str(ROOT / "launch")),
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert etree.fromstring(text.encode()).findtext(".//mavlink_tcp_port") == "4567"


STAND_INS = {  # what the classic launch files take from packages that Debian does not have
    "gazebo_ros": (
        "spawn_model",
        "empty_world.launch",
        """<launch><arg name="world_name"/>
        <arg name="gui"/></launch>""",
    ),
    "mavros": (
        "mavros_node",
        "px4.launch",
        """<launch><arg name="fcu_url"/><arg name="tgt_system"/>
        <node name="mavros" pkg="mavros" type="mavros_node"
              args="$(arg fcu_url) $(arg tgt_system)"/>
        </launch>""",
    ),
    "px4": ("px4", None, None),
}


@needs_ros
def test_roslaunch_resolves_the_classic_launch_files(tmp_path, gz):
    """With empty packages in the places of gazebo_ros, MAVROS and PX4: nodes, ports, arguments."""
    for name, (program, launch, text) in STAND_INS.items():
        folder = tmp_path / name
        (folder / "launch").mkdir(parents=True)
        (folder / "package.xml").write_text(
            f"<package format='2'><name>{name}</name><version>1.0.0</version><description/>"
            "<maintainer email='a@b.c'>a</maintainer><license>BSD</license></package>"
        )
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)
        if launch:
            (folder / "launch" / launch).write_text(text)
    file = ROOT / "launch/px4_gazebo_classic.launch"

    def roslaunch(*words):
        done = subprocess.run(
            ["roslaunch", *words, file, "n:=11"],
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "ROS_PACKAGE_PATH": f"{tmp_path}:{os.environ.get('ROS_PACKAGE_PATH', '')}",
                "CMAKE_PREFIX_PATH": "",
            },
        )  # where real ones would be found
        return done.stdout

    assert roslaunch("--nodes").split() == [
        f"/iris_{i}/{node}" for i in range(11) for node in ("spawn", "px4", "mavros")
    ]
    for i in (8, 10):  # on both sides of the tenth, after which offboard links share a port
        assert (
            f"udp://:{Ports(0).mavros(i)}@127.0.0.1:{Ports(0).offboard_local(i)} {i + 1}"
            in roslaunch("--args", f"/iris_{i}/mavros")
        )
    assert "-s etc/init.d-posix/rcS -i 1 -w sitl_iris_1" in roslaunch("--args", "/iris_1/px4")
    assert "-model iris_2 -x 6 -y 0" in roslaunch("--args", "/iris_2/spawn")
    described = roslaunch("--dump-params")
    found = [i for i in range(12) if f"<mavlink_tcp_port>{4560 + i}<" in described]
    assert found == list(range(11))
