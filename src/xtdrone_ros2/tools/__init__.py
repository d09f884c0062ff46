"""`xtdrone ros2`: the keyboard and the formation's nodes over ROS 2's topics, without ROS 2."""
