"""Answers to a ground station about the vehicle itself: protocol, modes, component metadata,
events.
"""
