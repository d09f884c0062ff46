"""Optimisation of vehicle and controller together, from flown scenarios."""
