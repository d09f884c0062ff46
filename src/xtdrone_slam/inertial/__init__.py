"""Visual-inertial odometry: a multi-state-constraint Kalman filter of an IMU and of cameras."""
