"""Teleoperation of Mora-Soto and others (2021): sticks, references, PID, offline simulator."""
