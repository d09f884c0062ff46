"""Baseline: the filter of msckf with the left camera alone."""
