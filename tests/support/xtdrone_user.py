"""A user's script in XTDrone's way: flies iris_0 by topics and services only, prints JSON.

Run by test_bridge_ros in a process of its own.
"""

import json
import sys
import time

import rospy
from geometry_msgs.msg import Pose, PoseStamped, Twist
from nav_msgs.msg import Odometry
from sensor_msgs.msg import BatteryState, Imu, NavSatFix
from std_msgs.msg import String
from std_srvs.srv import Trigger

from mavros_msgs.msg import PositionTarget, State
from mavros_msgs.srv import CommandBool, ParamGet, ParamSet, SetMode
from waiting import until
from xtdrone_msgs.srv import SetSpeed, Step

V = "iris_0"
seen = {}
report = {"info": [], "streamed": []}


def listen(name, topic, kind):
    rospy.Subscriber(topic, kind, lambda m: seen.__setitem__(name, m))


def wait(what, condition):
    """Waits for a condition."""
    try:
        until(condition, what)
    except AssertionError as error:
        raise SystemExit(f"{error}; last words: {report['info'][-3:]}") from error


def near(x, y, z, within):
    p = seen["pose"].pose.position
    return max(abs(p.x - x), abs(p.y - y), abs(p.z - z)) < within


def speed():
    v = seen["truth"].twist.twist.linear
    return (v.x**2 + v.y**2 + v.z**2) ** 0.5


def standstill(seconds):
    """Whether simulated time stays as it is for some wall time [s]."""
    before = rospy.get_time()
    time.sleep(seconds)
    return rospy.get_time() == before


rospy.init_node("a_user")
listen("pose", f"/{V}/mavros/local_position/pose", PoseStamped)
listen("state", f"/{V}/mavros/state", State)
listen("imu", f"/{V}/mavros/imu/data", Imu)
listen("fix", f"/{V}/mavros/global_position/global", NavSatFix)
listen("battery", f"/{V}/mavros/battery", BatteryState)
listen("truth", f"/xtdrone/{V}/ground_truth/odom", Odometry)
rospy.Subscriber(f"/xtdrone/{V}/info", String, lambda m: report["info"].append(m.data))
rospy.Subscriber(
    f"/{V}/mavros/setpoint_raw/local",
    PositionTarget,
    lambda m: report["streamed"].append(m.header.stamp.to_nsec() // 1000),
)
cmd = rospy.Publisher(f"/xtdrone/{V}/cmd", String, queue_size=5)
vel = rospy.Publisher(f"/xtdrone/{V}/cmd_vel_flu", Twist, queue_size=5)
accel = rospy.Publisher(f"/xtdrone/{V}/cmd_accel_enu", Twist, queue_size=5)
place = rospy.Publisher(f"/xtdrone/{V}/cmd_pose_enu", Pose, queue_size=5)
publishers = (cmd, vel, accel, place)


def say(word):
    """Publishes a command and waits for what /info says of it."""
    before = len(report["info"])
    cmd.publish(word)
    wait(
        f"{word} is answered",
        lambda: any(line.startswith(word) for line in report["info"][before:]),
    )
    return next(line for line in report["info"][before:] if line.startswith(word))


wait(
    "everything is there",
    lambda: (
        all(name in seen for name in ("pose", "state", "imu", "fix", "truth", "battery"))
        and seen["state"].connected
        and all(p.get_num_connections() for p in publishers)
    ),
)
report["gravity"] = seen["imu"].linear_acceleration.z
report["fix"] = [seen["fix"].latitude, seen["fix"].longitude]
report["frame"] = seen["pose"].header.frame_id
report["volts"] = seen["battery"].voltage

get = rospy.ServiceProxy(f"/{V}/mavros/param/get", ParamGet)
put = rospy.ServiceProxy(f"/{V}/mavros/param/set", ParamSet)
value = get("MIS_TAKEOFF_ALT").value
value.real = 3.0
report["param"] = put("MIS_TAKEOFF_ALT", value).value.real
report["no_param"] = get("NO_SUCH_PARAM").success
report["no_mode"] = rospy.ServiceProxy(f"/{V}/mavros/set_mode", SetMode)(0, "NO.MODE").mode_sent
report["bad_word"] = say("AUTO.NONSENSE")

wait("it arms", lambda: say("ARM") == "ARM: done")  # refused until the estimate has settled
say("AUTO.TAKEOFF")
wait("it is up", lambda: seen["pose"].pose.position.z > 2.5)
say("OFFBOARD")
forward = Twist()
forward.linear.x = 1.0
vel.publish(forward)
wait("it flies east", lambda: seen["pose"].pose.position.x > 2.0)
report["flew_by_velocity"] = True
vel.publish(Twist())  # means HOVER
wait("it hovers", lambda: speed() < 0.15)
north = Twist()
north.linear.y = 1.0
accel.publish(north)
wait("it speeds up northwards", lambda: seen["truth"].twist.twist.linear.y > 0.8)
report["flew_by_acceleration"] = True
say("HOVER")
wait("it hovers again", lambda: speed() < 0.15)
goal = Pose()
goal.position.x, goal.position.y, goal.position.z = 1.0, -1.0, 4.0
goal.orientation.w = 1.0
place.publish(goal)
wait("it has come to the place", lambda: near(1.0, -1.0, 4.0, 0.25) and speed() < 0.2)
t = seen["truth"].pose.pose.position
report["place"] = [t.x, t.y, t.z]

simulation = "/xtdrone/simulation/"
rospy.ServiceProxy(simulation + "pause", Trigger)()
wait("the clock stands still", lambda: standstill(0.3))
before = rospy.get_time()
rospy.ServiceProxy(simulation + "step", Step)(25)
wait("25 steps are done", lambda: rospy.get_time() - before > 0.075)
wait("the clock stands still again", lambda: standstill(0.2))
report["stepped"] = rospy.get_time() - before
rospy.ServiceProxy(simulation + "resume", Trigger)()
answer = rospy.ServiceProxy(simulation + "speed", SetSpeed)(-1.0)
report["bad_speed"] = [answer.success, answer.message]

report["no_disarm"] = rospy.ServiceProxy(f"/{V}/mavros/cmd/arming", CommandBool)(False).success
report["disarm_in_flight"] = say("DISARM")
say("AUTO.LAND")
wait("it has landed", lambda: not seen["state"].armed)
report["landed_at"] = seen["truth"].pose.pose.position.z
json.dump(report, sys.stdout)
