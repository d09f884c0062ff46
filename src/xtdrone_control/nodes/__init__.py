"""ROS executables for roslaunch, and the modules that import rospy."""
