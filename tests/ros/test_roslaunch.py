"""scripts/ros/roslaunch, where it differs from ROS's own."""

import pytest

from ros_fixtures import Processes, environment, free_port, needs_ros
from xtdrone_core import resources

pytestmark = needs_ros


@pytest.mark.parametrize(
    "package, program, advice",
    [
        ("rviz_of_another", "rviz", "install that package, or add its folder to ROS_PACKAGE_PATH"),
        ("xtdrone_control", "no_such_node", "install that package"),
    ],
)
def test_a_program_that_is_not_installed_is_one_line_before_anything_runs(
    tmp_path, package, program, advice
):
    (tmp_path / "a.launch").write_text(
        f"<launch><node name='mine' pkg='{package}' type='{program}'/></launch>"
    )
    processes = Processes(environment(port := free_port(), tmp_path))
    done = processes.run("roslaunch", "-p", port, tmp_path / "a.launch")
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"roslaunch: node 'mine' needs {program} of the ROS package "
        f"{package}, which is not installed: {advice}"
    )
    assert done.stderr.count("\n") == 1 and "started roslaunch server" not in done.stdout


@pytest.mark.parametrize(
    "typo, line",
    [
        ("vehicel:=iris", "unknown argument of single_vehicle.launch 'vehicel'"),
        ("vehicle:=irs", "vehicle 'irs'"),
        ("n:=nine", "nine"),
        ("wind:=fast", "fast"),
    ],
)
def test_a_wrong_argument_is_one_line_and_nothing_else(tmp_path, typo, line):
    processes = Processes(environment(port := free_port(), tmp_path))
    launch_file = resources.root() / "launch" / "single_vehicle.launch"
    done = processes.run("roslaunch", "-p", port, launch_file, typo)
    assert done.returncode in (1, 2) and done.stdout == ""
    assert line in done.stderr and done.stderr.count("\n") == 1
