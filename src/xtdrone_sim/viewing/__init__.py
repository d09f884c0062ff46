"""Flights in 3D: replay of run folders, films, and the window of a running simulation."""
