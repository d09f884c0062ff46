"""Names and namespaces of others' launch files: /uav0/mavros, and /mavros for one vehicle."""

import pytest

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros

pytestmark = [needs_ros, pytest.mark.slow]


@pytest.mark.parametrize(
    "words, tops, frame",
    [
        pytest.param(
            ("vehicles:=uav0=iris; uav1=iris@3,0",),
            ("/uav0", "/uav1"),
            "uav1/base_link",
            marks=pytest.mark.long,
        ),
        (("vehicles:=uav0=iris", "namespace:=none"), ("",), "base_link"),
    ],
)
def test_topics_services_and_frames_have_the_namespace(tmp_path, words, tops, frame):
    processes = Processes(environment(port := free_port(), tmp_path))
    file = ROOT / "launch" / "single_vehicle.launch"
    running = processes.start("roslaunch", "-p", port, file, "tf:=true", *words)
    try:
        processes.await_vehicles(running)
        names = processes.run("rostopic", "list").stdout.split()
        assert {name for name in names if name.endswith("mavros/state")} == {
            f"{top}/mavros/state" for top in tops
        }
        assert "/xtdrone/uav0/cmd" in names
        state = processes.run("rostopic", "echo", "-n", "3", f"{tops[0]}/mavros/state").stdout
        assert "connected: True" in state and "mode:" in state
        parameter = processes.run("rosparam", "get", f"{tops[0]}/mavros/fcu_url")
        assert parameter.returncode == 0, parameter.stderr
        services = processes.run("rosservice", "list").stdout.split()
        assert f"{tops[-1]}/mavros/cmd/arming" in services
        # XTDrone's node commands the vehicle below the same namespace.
        processes.run(
            "rostopic", "pub", "-1", "/xtdrone/uav0/cmd", "std_msgs/String", "data: AUTO.LAND"
        )
        state = processes.run("rostopic", "echo", "-n", "2", f"{tops[0]}/mavros/state").stdout
        assert "AUTO.LAND" in state
        assert (
            f'child_frame_id: "{frame}"'
            in processes.run("rostopic", "echo", "-n", "1", "/tf").stdout
        )
    finally:
        processes.stop(running)
        processes.close()
