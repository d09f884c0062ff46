"""The ROS side: executables for roslaunch, and the classes that need rospy."""
