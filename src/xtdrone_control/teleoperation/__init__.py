"""Teleoperation after Mora-Soto and others (2021): sticks, references, PID, an offline simulator."""
