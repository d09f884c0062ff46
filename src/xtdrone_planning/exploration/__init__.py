"""Exploration: where to look next."""
