"""Vehicles that share out what there is to do, and that carry loads."""
