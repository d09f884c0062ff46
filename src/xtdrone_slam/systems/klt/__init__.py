"""Baseline: stereo odometry by optical flow (KLT) and PnP, on OpenCV."""
