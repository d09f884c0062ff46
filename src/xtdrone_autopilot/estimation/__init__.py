"""The embedded estimator: an error-state extended Kalman filter of each vehicle."""
