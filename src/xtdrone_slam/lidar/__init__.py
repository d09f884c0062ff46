"""Laser SLAM's parts: undistortion, voxel maps, registration, grids, pose graphs, map files."""
