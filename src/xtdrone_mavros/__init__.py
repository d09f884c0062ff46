"""MAVROS's topics and services from MAVLink alone: what ROS 1 and ROS 2 share, without rospy.

The tables of all ROS topics and services are in topics/ (published), inputs/ (subscribed) and
services/, one row each.
"""
