"""Trajectory metrics (APE, RPE) and the benchmark report."""
