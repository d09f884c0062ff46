"""Several vehicles at once: shared trajectories, and plans that are confirmed before they fly."""
