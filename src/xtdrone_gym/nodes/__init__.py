"""Executables that ROS starts."""
