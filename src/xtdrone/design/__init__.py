"""Vehicles designed from their parts: frame, motors, propellers, battery."""
