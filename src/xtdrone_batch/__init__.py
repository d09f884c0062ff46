"""Thousands of vehicles at once: parallel physics, worlds and ray-cast cameras."""
