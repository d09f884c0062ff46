"""VINS-Fusion as a ROS node, configured from the calibration of the dataset."""
