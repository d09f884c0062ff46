"""Basalt VIO (stereo and IMU) from depthai's PyPI package, in an environment of its own."""
