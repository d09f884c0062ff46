"""Prints as JSON what MAVROS has beside its topics, as a client of a fleet of two hears it."""

import json

import rospy
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import Imu
from tf2_msgs.msg import TFMessage

from mavros_msgs.srv import FileList, VehicleInfoGet

WITHIN_S = 300.0


def some(topic, kind, n):
    """The first n messages that one connection gets."""
    heard = []
    subscriber = rospy.Subscriber(topic, kind, heard.append)
    while len(heard) < n:
        rospy.rostime.wallsleep(0.005)
    subscriber.unregister()
    return heard[:n]


def service(name, kind, **fields):
    """What a service answers."""
    rospy.wait_for_service(name, WITHIN_S)
    return rospy.ServiceProxy(name, kind)(**fields)


def refusal(name, kind, **fields):
    """What a service says that fails; an empty text if it answers."""
    try:
        service(name, kind, **fields)
    except rospy.ServiceException as error:
        return str(error)
    return ""


rospy.init_node("extras_user", disable_rostime=True)
info = service("/iris_1/mavros/vehicle_info_get", VehicleInfoGet, get_all=True)
print(
    json.dumps(
        {
            "topics": [name for name, _ in rospy.get_published_topics()],
            "frames": [
                transform.child_frame_id
                for message in some("/tf_static", TFMessage, 1)
                for transform in message.transforms
            ],
            "diagnostics": [
                status.name
                for message in some("/diagnostics", DiagnosticArray, 2)
                for status in message.status
            ],
            "numbers": [message.header.seq for message in some("/iris_1/mavros/imu/data", Imu, 3)],
            "frame": rospy.get_param("/iris_1/mavros/setpoint_velocity/mav_frame"),
            "capabilities": {each.sysid: each.capabilities for each in info.vehicles},
            "files": [
                entry.name
                for entry in service("/iris_1/mavros/ftp/list", FileList, dir_path="/").list
            ],
            "nobody": refusal("/iris_1/mavros/vehicle_info_get", VehicleInfoGet, sysid=99),
        }
    )
)
