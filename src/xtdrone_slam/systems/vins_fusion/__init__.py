"""VINS-Fusion as a ROS node, with its configuration from a dataset's calibration."""
