"""Multirotors of one body in lanes: a block of vehicles in the vector unit at a time."""
