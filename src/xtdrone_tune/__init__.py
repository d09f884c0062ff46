"""Tuning of the teleoperation's gains from flight logs."""
