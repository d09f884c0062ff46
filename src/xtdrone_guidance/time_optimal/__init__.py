"""Time-optimal flights of multirotors, planned with the whole rigid body."""
