"""Worlds from SDF files, and their models."""

from .ground import wrong_ground
from .sdf_world import Light, World, load_world, world_of

__all__ = ["Light", "World", "load_world", "world_of", "wrong_ground"]
