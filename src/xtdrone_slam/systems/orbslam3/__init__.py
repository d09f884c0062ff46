"""ORB-SLAM3 (stereo) from PyPI, in an environment and a process of its own."""
