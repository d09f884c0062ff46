"""Worlds and vehicles as glTF, made from their SDF files."""
