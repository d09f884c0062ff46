"""PX4 on a flight controller, at a serial device (HITL)."""
