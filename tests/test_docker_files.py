"""What can be known about docker/ and the classic launch files without an engine or MAVROS."""

import subprocess

import pytest
import yaml
from lxml import etree

from xtdrone_core import resources

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
    done = subprocess.run([ROOT / "docker/entrypoint.sh", "xtdrone", "--version"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("xtdrone")


def test_classic_launch_files_are_well_formed_and_their_sed_finds_the_port():
    for path in (ROOT / "launch").glob("px4_gazebo_classic*.launch"):
        assert etree.parse(str(path)).getroot().tag == "launch"
    launch = etree.parse(str(ROOT / "launch/px4_gazebo_classic_vehicle.launch"))
    command = launch.find(".//param[@name='sdf']").get("command")
    command = command.replace("$(arg tcp_port)", "4567").replace("$(arg vehicle)", "iris")
    text = subprocess.run(command.replace("$(dirname)", str(ROOT / "launch")), shell=True,
                          capture_output=True, text=True, check=True).stdout
    assert etree.fromstring(text.encode()).findtext(".//mavlink_tcp_port") == "4567"
