"""Teleoperation, the XTDrone communication node and the MAVROS-compatible bridge."""
