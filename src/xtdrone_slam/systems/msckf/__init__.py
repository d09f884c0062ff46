"""Baseline: visual-inertial odometry by a multi-state-constraint Kalman filter."""
