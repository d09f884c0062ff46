"""The simple 3D simulator of point masses, for thousands of vehicles."""
