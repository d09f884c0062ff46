"""Metrics of trajectories, and the report."""
