"""Realistic camera images: each effect in a module of its own, put together in scene.py.

Light is computed in linear luminance [cd/m^2] from albedo and depth, which MuJoCo draws; the last
step exposes it. Arrays of images are (h, w, ...), their first row the lowest, as OpenGL has them.
"""
