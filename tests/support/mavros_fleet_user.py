"""A user's script for a fleet on MAVROS's topics: some vehicles take off; prints JSON.

Run by tests of real MAVROS and real PX4 in a process of its own.

Usage: mavros_fleet_user.py NAME... -- NAME...     the fleet, and those of it that take off
"""

import json
import sys

import rospy
from nav_msgs.msg import Odometry

from mavros_msgs.msg import State
from mavros_msgs.srv import CommandBool, SetMode, VehicleInfoGet
from waiting import until

middle = sys.argv.index("--")
names, flown = sys.argv[1:middle], sys.argv[middle + 1 :]
states, heights = {}, {}


def call(name, service, kind, *values):
    path = f"/{name}/mavros/{service}"
    rospy.wait_for_service(path)
    return rospy.ServiceProxy(path, kind)(*values)


def arms(name):
    return call(name, "cmd/arming", CommandBool, True).success


def takes_off(name):
    return call(name, "set_mode", SetMode, 0, "AUTO.TAKEOFF").mode_sent


rospy.init_node("fleet_user")
for name in names:
    rospy.Subscriber(
        f"/{name}/mavros/state", State, lambda m, name=name: states.__setitem__(name, m)
    )
    rospy.Subscriber(
        f"/xtdrone/{name}/ground_truth/odom",
        Odometry,
        lambda m, name=name: heights.__setitem__(name, m.pose.pose.position.z),
    )
until(lambda: len(states) == len(heights) == len(names), "everything is there")
until(lambda: all(state.connected for state in states.values()), "all are connected")
ids = [
    sorted(
        {
            info.sysid
            for info in call(  # components of the vehicle have its system id
                name, "vehicle_info_get", VehicleInfoGet, 0, 0, True
            ).vehicles
        }
    )
    for name in names
]
for name in flown:
    until(lambda: takes_off(name), "it knows the mode")
    until(lambda: arms(name), "it arms")
until(lambda: all(heights[name] > 1.5 for name in flown), "they are up")
print(
    json.dumps(
        {
            "system_ids": ids,
            "armed": [name for name in names if states[name].armed],
            "modes": [states[name].mode for name in flown],
            "up": [name for name in names if heights[name] > 1.0],
        }
    )
)
