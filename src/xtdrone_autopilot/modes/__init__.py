"""Flight modes: one module each, with a FlightMode called MODE.

A mode is a row of MODES in xtdrone_core/modes.py and a module here. Its task sets the targets to
which every type of vehicle flies, or its control laws fly it: see flight_mode.py.
"""
