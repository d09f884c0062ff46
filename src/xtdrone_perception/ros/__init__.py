"""What the ROS 1 nodes of perception do; their files in nodes/ read the command line."""
