"""Voxel maps and their distance fields."""
