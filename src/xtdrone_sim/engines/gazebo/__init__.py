"""Gazebo 11 as the engine, in lockstep through a plugin."""
