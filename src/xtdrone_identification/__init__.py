"""Identification of a vehicle's parameters from flight logs."""
