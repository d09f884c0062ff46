"""The simple 3D simulator: point masses, thousands at once."""
