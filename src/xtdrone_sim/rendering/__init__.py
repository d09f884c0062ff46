"""Cameras and lidars, drawn beside the simulation."""
