"""Processes, serial devices, telemetry and set-points of real flight stacks."""
