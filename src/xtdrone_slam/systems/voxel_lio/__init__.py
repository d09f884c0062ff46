"""Baseline: lidar-inertial odometry on a voxel map, on NumPy and Numba."""
