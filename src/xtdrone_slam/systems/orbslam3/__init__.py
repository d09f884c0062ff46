"""ORB-SLAM3 (stereo) from PyPI, in its own environment and process."""
