"""What the nodes of ROS 1 share, and the only package that imports rospy beside nodes/."""
