"""Guidance and control: trajectories, and controllers that fly any vehicle from its model."""
