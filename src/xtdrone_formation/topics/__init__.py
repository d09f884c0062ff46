"""The formation's nodes over topics: what those of ROS 1 and of ROS 2 share."""
