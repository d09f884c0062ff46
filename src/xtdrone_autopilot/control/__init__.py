"""The control loops, from position to actuator commands."""
