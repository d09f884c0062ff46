"""Services for clients on Fast DDS, ROS 2's default, which Cyclone DDS cannot answer: own RTPS."""
