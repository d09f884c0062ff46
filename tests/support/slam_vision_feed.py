"""Shows a dataset as a vehicle over ROS, and prints the vision poses that come back."""

import sys

import rospy
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Image, Imu

from xtdrone_slam.datasets.dataset import Dataset

dataset = Dataset(sys.argv[1])
rospy.init_node("feed")
came = []
rospy.Subscriber("/iris_0/mavros/vision_pose/pose", PoseStamped, came.append)
imu = rospy.Publisher("/iris_0/mavros/imu/data", Imu, queue_size=9)
images = [rospy.Publisher(f"/iris_0/{side}", Image, queue_size=9) for side in ("left", "right")]
attitude = Imu()
attitude.orientation.z = attitude.orientation.w = 0.5**0.5  # it looks north
end = rospy.get_time() + 120
while not (imu.get_num_connections() and all(each.get_num_connections() for each in images)):
    assert rospy.get_time() < end, "the node does not subscribe"
    rospy.sleep(0.02)
while not came:  # images before the attitude are not used
    imu.publish(attitude)
    for index, t_us in enumerate(map(int, dataset.times_us)):
        for publisher, pixels in zip(images, dataset.pair(index)):
            message = Image(
                height=pixels.shape[0],
                width=pixels.shape[1],
                encoding="mono8",
                step=pixels.shape[1],
                data=pixels.tobytes(),
            )
            message.header.stamp = rospy.Time(t_us // 1_000_000, t_us % 1_000_000 * 1000)
            publisher.publish(message)
        until = rospy.get_time() + (60.0 if came else 1.0)  # its own answer, late or not
        while rospy.get_time() < until and not (
            came and came[-1].header.stamp == message.header.stamp
        ):
            rospy.sleep(0.005)
for message in came:
    p, q = message.pose.position, message.pose.orientation
    print("vision", message.header.stamp.to_nsec() // 1000, p.x, p.y, p.z, q.z, q.w)
