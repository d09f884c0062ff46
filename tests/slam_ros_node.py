"""A ROS node for the tests: says where a pair's mean brightness puts it, by a PoseStamped."""

import sys

import numpy as np
import rospy
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image, Imu

if sys.argv[1] == "fail":
    sys.exit(5)
rospy.init_node("brightness")
readings, infos = [], []
pose = rospy.Publisher("/brightness/pose", PoseStamped, queue_size=10)
rights = {}


def take_right(message):
    rights[message.header.stamp.to_nsec()] = np.frombuffer(message.data, np.uint8).mean()


def take_left(message):
    if sys.argv[1] == "every_other" and message.header.stamp.to_nsec() // 80_000_000 % 2:
        return
    answer = PoseStamped()
    answer.header.stamp = message.header.stamp
    answer.pose.position.x = np.frombuffer(message.data, np.uint8).mean()
    answer.pose.position.y = 0.01 * len(readings)
    answer.pose.position.z = 0.01 * infos[0].K[0] if infos and rights else 0.0
    answer.pose.orientation.w = 1.0
    pose.publish(answer)


rospy.Subscriber("/cam0/camera_info", CameraInfo, infos.append)
rospy.Subscriber("/imu0", Imu, readings.append)
rospy.Subscriber("/cam1/image_raw", Image, take_right)
rospy.Subscriber("/cam0/image_raw", Image, take_left)
rospy.spin()
