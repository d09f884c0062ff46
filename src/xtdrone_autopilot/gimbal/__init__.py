"""Camera mounts and their gimbal managers."""
