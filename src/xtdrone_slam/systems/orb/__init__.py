"""Baseline: stereo SLAM with ORB features, keyframes and local bundle adjustment (gtsam)."""
