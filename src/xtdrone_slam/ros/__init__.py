"""What the ROS 1 nodes of SLAM evaluation do; their files in nodes/ read the command line."""
