"""A user's script in XTDrone's way: flies plane_0 by topics and services only, prints JSON."""

import json
import math
import sys

import rospy
from geometry_msgs.msg import Pose, PoseStamped, Twist
from nav_msgs.msg import Odometry
from std_msgs.msg import String

from mavros_msgs.msg import State, Waypoint
from mavros_msgs.srv import SetMode, WaypointPush
from waiting import until

V = "plane_0"
GOAL = (200.0, 100.0, 60.0)  # ENU [m]
seen = {}
info = []
report = {}


def listen(name, topic, kind):
    rospy.Subscriber(topic, kind, lambda m: seen.__setitem__(name, m))


def wait(what, condition):
    """Waits for a condition."""
    try:
        return until(condition, what)
    except AssertionError as error:
        raise SystemExit(f"{error}; last lines: {info[-3:]}") from error


def position():
    p = seen["pose"].pose.position
    return p.x, p.y, p.z


def stays(goal, seconds):
    """Largest distance from a position, lowest and greatest height within this time [m]."""
    end, distances, heights = rospy.get_time() + seconds, [], []

    def over():
        distances.append(math.dist(position()[:2], goal[:2]))
        heights.append(position()[2])
        return rospy.get_time() > end

    wait("the time is over", over)
    return [max(distances), min(heights), max(heights)]


def command(word):
    """Publishes a command and waits for its result on /info."""
    before = len(info)
    cmd.publish(word)
    return wait(
        f"{word} is answered",
        lambda: next((line for line in info[before:] if line.startswith(word)), None),
    )


def waypoint(number, east, north, up):
    """A waypoint relative to the world's origin."""
    item = Waypoint(frame=Waypoint.FRAME_GLOBAL_REL_ALT, command=number, autocontinue=True)
    item.x_lat = 47.397742 + north / 111_190.0
    item.y_long = 8.545594 + east / (111_320.0 * math.cos(math.radians(47.397742)))
    item.z_alt = up
    return item


rospy.init_node("a_user")
listen("pose", f"/{V}/mavros/local_position/pose", PoseStamped)
listen("state", f"/{V}/mavros/state", State)
listen("truth", f"/xtdrone/{V}/ground_truth/odom", Odometry)
rospy.Subscriber(f"/xtdrone/{V}/info", String, lambda m: info.append(m.data))
cmd = rospy.Publisher(f"/xtdrone/{V}/cmd", String, queue_size=5)
vel = rospy.Publisher(f"/xtdrone/{V}/cmd_vel_flu", Twist, queue_size=5)
enu = rospy.Publisher(f"/xtdrone/{V}/cmd_pose_enu", Pose, queue_size=5)
flu = rospy.Publisher(f"/xtdrone/{V}/cmd_pose_flu", Pose, queue_size=5)
wait(
    "everything is there",
    lambda: (
        "pose" in seen
        and "state" in seen
        and seen["state"].connected
        and all(p.get_num_connections() for p in (cmd, vel, enu, flu))
    ),
)

wait("it arms", lambda: command("ARM") == "ARM: done")  # refused until the estimate has settled
report["takeoff"] = command("takeoff")
wait("it is up", lambda: position()[2] > 25.0)
report["transition"] = command("plane")
# PX4 may lose a plane that goes from AUTO.TAKEOFF to OFFBOARD: see docs/px4.md.
command("loiter")
report["offboard"] = command("OFFBOARD")
goal = Pose()
goal.position.x, goal.position.y, goal.position.z = GOAL
enu.publish(goal)
wait("it is there", lambda: math.dist(position(), GOAL) < 40.0)
report["goal"] = stays(GOAL, 40.0)
before = len(info)
twist = Twist()
twist.linear.x = 1.0
vel.publish(twist)
report["velocity"] = wait("a velocity is refused", lambda: info[before:])[0]
report["loiter"] = command("loiter")
here = position()
report["hold"] = stays(here, 30.0)
ahead = Pose()
ahead.position.x = 300.0
flu.publish(ahead)
wait("it flies ahead", lambda: math.dist(position()[:2], here[:2]) > 200.0)

push = rospy.ServiceProxy(f"/{V}/mavros/mission/push", WaypointPush)
mission = [
    waypoint(16, 0.0, 0.0, 50.0),
    waypoint(16, 0.0, 300.0, 50.0),
    waypoint(17, -100.0, 0.0, 50.0),
]
# PX4 refuses it while the bridge reads its plans.
wait("the mission is on the plane", lambda: push(0, mission).wp_transfered == len(mission))
report["mission"] = command("AUTO.MISSION")
wait("it is at the second waypoint", lambda: math.dist(position()[:2], (0.0, 300.0)) < 60.0)
rospy.ServiceProxy(f"/{V}/mavros/set_mode", SetMode)(0, "AUTO.LOITER")
wait("it loiters", lambda: seen["state"].mode == "AUTO.LOITER")
report["land"] = command("land")
wait("it has landed", lambda: not seen["state"].armed)
report["landed_at"] = seen["truth"].pose.pose.position.z
json.dump(report, sys.stdout)
