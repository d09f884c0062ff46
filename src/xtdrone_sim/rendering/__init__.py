"""Rendering of cameras and lidars."""
