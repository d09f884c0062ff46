"""A user's script: flies to near the pad by MAVROS, then changes to AUTO.PRECLAND; prints JSON.

Needs launch/landing.launch with a detector. Run by a test in a process of its own.
"""

import json
import math

import rospy
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry

from mavros_msgs.msg import State
from mavros_msgs.srv import CommandBool, SetMode
from vision_msgs.msg import Detection2DArray, Detection3DArray
from waiting import until

NAME, CAMERA = "iris_downward_0", "/iris_downward_0/downward_camera"
TOP = f"/{NAME}/mavros/"
PAD, NEAR = (6.0, 4.0), (6.8, 4.5, 5.0)  # [m]
counts = {"markers": 0, "targets": 0, "boxes": 0}
heard = {}


def count(name):
    def take(message):
        counts[name] += bool(getattr(message, "detections", True))

    return take


def call(service, kind, *values):
    rospy.wait_for_service(TOP + service)
    return rospy.ServiceProxy(TOP + service, kind)(*values)


def changes(mode):
    call("set_mode", SetMode, 0, mode)
    return heard["state"].mode == mode


def arms():
    return call("cmd/arming", CommandBool, True).success


def distance(goal):
    place = heard["odom"].pose.pose.position
    return math.dist((place.x, place.y, place.z)[: len(goal)], goal)


rospy.init_node("landing_user")
rospy.Subscriber(TOP + "state", State, lambda m: heard.__setitem__("state", m))
rospy.Subscriber(
    f"/xtdrone/{NAME}/ground_truth/odom", Odometry, lambda m: heard.__setitem__("odom", m)
)
rospy.Subscriber(f"{CAMERA}/markers", Detection3DArray, count("markers"))
rospy.Subscriber(f"{CAMERA}/detections", Detection2DArray, count("boxes"))
rospy.Subscriber(TOP + "landing_target/pose", PoseStamped, count("targets"))
goals = rospy.Publisher(TOP + "setpoint_position/local", PoseStamped, queue_size=1)
goal = PoseStamped()
goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = NEAR
goal.pose.orientation.w = 1.0
until(lambda: len(heard) == 2 and heard["state"].connected, "the vehicle is connected")
rospy.Timer(rospy.Duration(0.1), lambda _: goals.publish(goal))
until(lambda: changes("OFFBOARD"), "OFFBOARD")
until(arms, "it arms")
until(lambda: distance(NEAR) < 0.4, "it is near the pad")
until(lambda: changes("AUTO.PRECLAND"), "AUTO.PRECLAND")
until(lambda: not heard["state"].armed, "it has landed")
classes = rospy.get_param(f"{CAMERA}/detections_classes")
print(json.dumps({**counts, "away": distance(PAD), "classes": classes}))
