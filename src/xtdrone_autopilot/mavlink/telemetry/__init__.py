"""Telemetry messages beside those of flight: of clocks, devices, modes, and remote identification.

A new message is one marked method in one of these modules, or of a new class in PARTS of
streams.py.
"""
