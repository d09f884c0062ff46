"""How old messages of real MAVROS are by their stamps, after its clock estimate is used; JSON.

Run by test_mavros_real in a process of its own.
"""

import json

import rospy
from geometry_msgs.msg import PoseStamped

from mavros_msgs.msg import TimesyncStatus
from waiting import until

MESSAGES = 520  # MAVROS's convergence_window is 500
syncs, ages = [], []


def take(message):
    if len(syncs) > MESSAGES:
        ages.append((rospy.Time.now() - message.header.stamp).to_sec())


rospy.init_node("stamps_user")
rospy.Subscriber("/iris_0/mavros/timesync_status", TimesyncStatus, syncs.append)
rospy.Subscriber("/iris_0/mavros/local_position/pose", PoseStamped, take)
until(lambda: len(ages) > 50, "MAVROS has estimated its offset")
print(
    json.dumps(
        {
            "ages": ages,
            "timesync_messages": len(syncs),
            "offset_s": syncs[-1].estimated_offset_ns * 1e-9,
        }
    )
)
