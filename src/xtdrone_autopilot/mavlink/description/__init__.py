"""What a ground station asks about the vehicle itself: protocol, modes, component metadata,
events.
"""
