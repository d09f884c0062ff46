"""ROS executables for roslaunch."""
