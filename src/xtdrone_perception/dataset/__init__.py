"""Data sets with labels, made by the simulator: random scenes, images, what each pixel shows."""
