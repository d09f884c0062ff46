"""The elements of an SDF file that make forces: actuators, wings, tyres, hulls, effects."""
