"""Services as both of ROS 2's middlewares call them, by RTPS itself."""
