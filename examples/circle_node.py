#!/usr/bin/env python3
"""A user's ROS node: takes off in OFFBOARD, flies a circle, lands.

roslaunch launch/single_vehicle.launch                  # in one terminal
python examples/circle_node.py                          # in another
"""

import math

import rospy
from geometry_msgs.msg import PoseStamped

from mavros_msgs.msg import State
from mavros_msgs.srv import CommandBool, SetMode

V = "/iris_0/mavros/"
RADIUS, HEIGHT, TURN_S = 3.0, 3.0, 15.0  # [m], [m], [s]


def main():
    rospy.init_node("circle")
    state = State()

    def on_state(message):
        nonlocal state
        state = message

    rospy.Subscriber(V + "state", State, on_state)
    set_points = rospy.Publisher(V + "setpoint_position/local", PoseStamped, queue_size=1)
    rospy.wait_for_service(V + "set_mode")
    arm = rospy.ServiceProxy(V + "cmd/arming", CommandBool)
    set_mode = rospy.ServiceProxy(V + "set_mode", SetMode)
    rate = rospy.Rate(20)  # of simulated time; OFFBOARD needs at least 2 Hz

    def go(x, y):
        pose = PoseStamped()
        pose.header.stamp, pose.pose.orientation.w = rospy.Time.now(), 1.0
        pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = x, y, HEIGHT
        set_points.publish(pose)
        rate.sleep()

    while not (state.armed and state.mode == "OFFBOARD"):  # refused until the estimate has settled
        for _ in range(20):
            go(0.0, 0.0)
        set_mode(0, "OFFBOARD")
        arm(True)
    for _ in range(100):
        go(0.0, 0.0)
    for k in range(int(20 * TURN_S) + 1):
        angle = 2.0 * math.pi * k / (20 * TURN_S)
        go(RADIUS * math.sin(angle), RADIUS * (1.0 - math.cos(angle)))
    set_mode(0, "AUTO.LAND")
    while state.armed:
        rate.sleep()
    print("landed")


if __name__ == "__main__":
    try:
        main()
    except rospy.ROSInterruptException:
        pass  # Ctrl-C
