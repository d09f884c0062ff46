"""Vehicles and worlds composed in Python, out of small parts to inherit from; written as SDF."""
