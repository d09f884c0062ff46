"""Names and namespaces of others' launch files: /uav0/mavros, and /mavros for one vehicle."""

import sys

import pytest

from ros_fixtures import ROOT, Processes, environment, free_port, needs_ros
from waiting import until

pytestmark = [needs_ros, pytest.mark.slow]
USER = """import sys, rospy
from mavros_msgs.msg import State
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

rospy.init_node("user")
state = sys.argv[1] + "/mavros/state"
while not rospy.wait_for_message(state, State).connected:
    pass
command = rospy.Publisher("/xtdrone/uav0/cmd", String, queue_size=1, latch=True)
command.publish("AUTO.LAND")
while rospy.wait_for_message(state, State).mode != "AUTO.LAND":
    pass
print([each.child_frame_id for each in rospy.wait_for_message("/tf", TFMessage).transforms])
"""


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
        until(lambda: "/xtdrone/uav0/cmd" in processes.names()[0], "its node is up", running)
        names, services = processes.names()
        assert {name for name in names if name.endswith("mavros/state")} == {
            f"{top}/mavros/state" for top in tops
        }
        assert processes.parameter(f"{tops[0]}/mavros/fcu_url") is not None
        assert f"{tops[-1]}/mavros/cmd/arming" in services
        # XTDrone's node commands the vehicle below the same namespace.
        done = processes.run(sys.executable, "-c", USER, tops[0])
        assert f"'{frame}'" in done.stdout, done.stderr
    finally:
        processes.stop(running)
        processes.close()
