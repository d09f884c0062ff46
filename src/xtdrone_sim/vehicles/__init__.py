"""Vehicles and worlds, read from SDF files."""
