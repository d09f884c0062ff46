"""Baseline: SLAM in the plane with loop closures and an occupancy grid, on NumPy and Numba."""
