"""A user's script for a fleet that real MAVROS connects: some vehicles take off; prints JSON.

Run by test_mavros_real in a process of its own.

Usage: mavros_fleet_user.py N I...     vehicles I of iris_0 to iris_<N - 1>
"""

import json
import sys

import rospy
from nav_msgs.msg import Odometry

from mavros_msgs.msg import State
from mavros_msgs.srv import CommandBool, SetMode, VehicleInfoGet
from waiting import until

n, flown = int(sys.argv[1]), [int(word) for word in sys.argv[2:]]
states, heights = {}, {}


def call(i, service, kind, *values):
    name = f"/iris_{i}/mavros/{service}"
    rospy.wait_for_service(name)
    return rospy.ServiceProxy(name, kind)(*values)


def armed(i):
    return call(i, "cmd/arming", CommandBool, True).success


rospy.init_node("fleet_user")
for i in range(n):
    rospy.Subscriber(f"/iris_{i}/mavros/state", State, lambda m, i=i: states.__setitem__(i, m))
    rospy.Subscriber(f"/xtdrone/iris_{i}/ground_truth/odom", Odometry,
                     lambda m, i=i: heights.__setitem__(i, m.pose.pose.position.z))
until(lambda: len(states) == len(heights) == n, "everything is there")
until(lambda: all(state.connected for state in states.values()), "all are connected")
ids = [sorted({info.sysid for info in  # components of the vehicle have its system id
               call(i, "vehicle_info_get", VehicleInfoGet, 0, 0, True).vehicles})
       for i in range(n)]
for i in flown:
    until(lambda: call(i, "set_mode", SetMode, 0, "AUTO.TAKEOFF").mode_sent, "it knows the mode")
    until(lambda: armed(i), "it arms")
until(lambda: all(heights[i] > 1.5 for i in flown), "they are up")
print(json.dumps({"system_ids": ids, "armed": [i for i in range(n) if states[i].armed],
                  "modes": [states[i].mode for i in flown],
                  "up": [i for i in range(n) if heights[i] > 1.0]}))
