"""Goals, depth images and maps as messages of ROS 1."""
