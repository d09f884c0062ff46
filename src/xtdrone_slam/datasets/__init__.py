"""Datasets and trajectories: written, read, imported, exported."""
