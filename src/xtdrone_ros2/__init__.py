"""ROS 2 without ROS 2: the fleet's topics over DDS, with Cyclone DDS from PyPI."""
