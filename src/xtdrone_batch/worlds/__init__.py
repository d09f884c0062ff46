"""Worlds of a batch: files that say what stands in an environment, and what is drawn at random."""
