"""Basalt VIO (stereo and IMU) from depthai's PyPI package, in its own environment."""
