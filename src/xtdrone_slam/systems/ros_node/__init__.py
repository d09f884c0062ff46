"""Any ROS 1 node that takes a stereo pair from topics and publishes a pose."""
