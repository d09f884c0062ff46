"""A team that is a program, for the tests of challenges: python challenge_team.py DOOR WHAT.

DOOR is mavlink, ros1 or ros2; WHAT is one of the functions below.
"""

import json
import math
import os
import subprocess
import sys
import time

TOLD = json.loads(os.environ["XTDRONE_CHALLENGE"])
TRUE_STATES = {"HIL_STATE", "HIL_STATE_QUATERNION", "SIM_STATE"}


def crash(door):
    """Ends with an error."""
    raise ValueError(TOLD["told"]["word"])


def abort(door):
    """Ends by a signal."""
    os.abort()


def hang(door):
    """Does nothing, for ever."""
    time.sleep(1000)


def leave(door):
    """Leaves a process in a session of its own, and ends."""
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True
    )


def hop(door):
    """Takes off."""
    {"mavlink": _hop_by_mavlink, "ros1": _hop_by_ros1, "ros2": _hop_by_ros2}[door]()


def flood(door):
    """Sends as much as it can."""
    if door == "mavlink":
        link = _link()
        while True:
            link.mav.statustext_send(6, b"x" * 50)
    import rospy
    from geometry_msgs.msg import PoseStamped

    rospy.init_node("team")
    out = rospy.Publisher("/iris_0/mavros/setpoint_position/local", PoseStamped, queue_size=1000)
    while True:
        out.publish(PoseStamped())


def cheat(door):
    """Subscribes to true states."""
    if door == "ros1":
        import rospy

        from gazebo_msgs.msg import ModelStates

        rospy.init_node("team")
        rospy.Subscriber("/gazebo/model_states", ModelStates, print)
    else:
        node = _node()
        node.reader("/drone0/state/pose", "geometry_msgs/msg/PoseStamped", print)
    time.sleep(1000)


def peep(door):
    """Looks for true states on the link, and for the control socket; ends if there are none."""
    import socket

    from xtdrone_core.runs.ports import Ports

    link, seen, end = _link(), set(), time.monotonic() + 3.0
    while time.monotonic() < end:
        message = link.recv_match(blocking=True, timeout=1.0)
        seen.add(message.get_type())
    assert "ATTITUDE" in seen
    assert not seen & TRUE_STATES
    with socket.socket() as sock:
        assert sock.connect_ex(("127.0.0.1", Ports().control)) != 0


def _link():
    from pymavlink import mavutil

    link = mavutil.mavlink_connection(TOLD["mavlink"][0])
    link.wait_heartbeat()
    link.mav.heartbeat_send(6, 8, 0, 0, 0)  # it streams to who has spoken
    return link


def _hop_by_mavlink():
    link, height = _link(), 0.0
    while height < 0.7:
        message = link.recv_match(type=["HEARTBEAT", "LOCAL_POSITION_NED"], blocking=True)
        if message.get_type() == "LOCAL_POSITION_NED":
            height = -message.z
        elif not message.base_mode & 128:  # not armed yet
            link.mav.command_long_send(1, 1, 22, 0, *[math.nan] * 7)  # take off
            link.mav.command_long_send(1, 1, 400, 0, 1, 0, 0, 0, 0, 0, 0)  # arm


def _hop_by_ros1():
    import rospy
    from geometry_msgs.msg import PoseStamped

    from mavros_msgs.srv import CommandBool, SetMode

    rospy.init_node("team")
    height = []
    rospy.Subscriber(
        "/iris_0/mavros/local_position/pose",
        PoseStamped,
        lambda message: height.append(message.pose.position.z),
    )
    arm = rospy.ServiceProxy("/iris_0/mavros/cmd/arming", CommandBool)
    set_mode = rospy.ServiceProxy("/iris_0/mavros/set_mode", SetMode)
    arm.wait_for_service()
    while not height or height[-1] < 0.7:
        set_mode(0, "AUTO.TAKEOFF")
        arm(True)
        rospy.sleep(0.5)


def _node():
    from xtdrone_ros2.wire.node import Node
    from xtdrone_ros2.wire.types import Types

    return Node(Types(), "/team", int(os.environ["ROS_DOMAIN_ID"]))


def _hop_by_ros2():
    from xtdrone_ros2.wire.quality import SENSOR

    node, seen = _node(), {"height": 0.0, "armed": False}

    def on_position(data):
        seen["height"] = -node.types.read(data, "px4_msgs/msg/VehicleLocalPosition").z

    def on_status(data):
        seen["armed"] = node.types.read(data, "px4_msgs/msg/VehicleStatus").arming_state == 2

    orders = node.writer("/fmu/in/vehicle_command", "px4_msgs/msg/VehicleCommand")
    top = "/fmu/out/vehicle_"
    node.reader(f"{top}local_position", "px4_msgs/msg/VehicleLocalPosition", on_position, SENSOR)
    node.reader(f"{top}status", "px4_msgs/msg/VehicleStatus", on_status, SENSOR)
    node.announce()
    while seen["height"] < 0.7:
        for command, first in () if seen["armed"] else ((22, math.nan), (400, 1.0)):
            order = node.types.message(
                "px4_msgs/msg/VehicleCommand",
                command=command,
                param1=first,
                **{f"param{k}": math.nan for k in range(4, 8)},
                target_system=1,
                target_component=1,
                from_external=True,
            )
            orders.write(node.types.serialised(order))
        time.sleep(0.5)
        node.handle()


if __name__ == "__main__":
    globals()[sys.argv[2]](sys.argv[1])
