"""Observers of a flight: crashes, figures, laps, recordings. They change nothing of it."""
