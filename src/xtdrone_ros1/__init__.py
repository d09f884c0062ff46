"""Shared modules of the nodes of ROS 1; only they and nodes/ import rospy."""
