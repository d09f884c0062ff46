"""Evaluation of formation flights: recordings, metrics, plots, tables."""
